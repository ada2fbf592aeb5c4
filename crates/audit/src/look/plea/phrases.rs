//! What people say to graders, in the languages that graders read.

use super::PleaKind;

/// Words that follow each other, with at most so many others between them.
///
/// Slots are parted by `~` and a number; `|` parts the words that fit a slot; a `*` at the end takes in what begins so.
pub(super) const SPACED: &[(PleaKind, &str)] = &[
    // English
    (
        PleaKind::Override,
        "ignore|disregard|forget|override|bypass|discard ~3 previous|prior|above|earlier|preceding|all|any|your|grading|system|these|those ~2 instruction*|prompt*|rule*|guideline*|direction*|message*|context|criteri*|rubric*|command*",
    ),
    (PleaKind::Override, "ignore|disregard|forget|override|bypass|discard ~2 instruction*|rubric*|criteria|guidelines"),
    (PleaKind::Override, "do ~0 not ~1 follow|use|apply ~2 rubric*|grading|criteria|reference"),
    (PleaKind::Override, "new|updated|revised ~1 instruction*|rubric|grading ~2 grader|judge|evaluator|score|mark"),
    (
        PleaKind::Demand,
        "mark|score|grade|rate|judge|evaluate|accept|count|treat|consider|label|classify|deem|regard|record ~2 answer|response|submission|solution|output|reply|candidate ~3 correct|right|pass|passed|passing|true|accurate|valid|perfect",
    ),
    (
        PleaKind::Demand,
        "mark|score|grade|rate|judge|count|treat ~0 this|it|me|that ~1 as ~1 correct|right|pass|passed|passing|true|perfect",
    ),
    (
        PleaKind::Demand,
        "give|award|assign|grant|return|output ~3 full|maximum|max|perfect|top|highest ~1 mark|marks|score|scores|credit|points|grade|rating",
    ),
    (PleaKind::Demand, "respond|reply|return|output|answer ~1 with|only ~2 correct|pass|passed|yes|true"),
    (PleaKind::Demand, "regardless ~3 reference|rubric|gold|expected|ground"),
    (
        PleaKind::Demand,
        "reference|gold|expected|target|official ~0 answer|solution|output ~2 wrong|outdated|incorrect|changed|updated|mistaken|invalid",
    ),
    (
        PleaKind::Demand,
        "must|should|will|please ~1 be ~0 marked|scored|graded|rated|judged|accepted ~2 correct|right|pass|passed|true|full",
    ),
    (
        PleaKind::Address,
        "dear|hello|hi|hey|attention|note|message|memo|notice|instruction|instructions|reminder ~2 grader|graders|autograder|evaluator|examiner|assessor|judge",
    ),
    (PleaKind::Address, "you ~0 are ~3 grader|evaluator|autograder|grading|examiner"),
    (PleaKind::Address, "grader|evaluator|autograder|examiner ~1 must|should|please|note|shall"),
    (PleaKind::Address, "llm|ai ~0 judge|grader|evaluator ~1 must|should|please|note|shall|reading"),
    (PleaKind::Verdict, "final ~0 verdict|judgment|judgement|grade|score ~1 pass|passed|correct|true|yes|perfect"),
    (
        PleaKind::Verdict,
        "verdict|judgment|judgement|grade|grading|is_correct|iscorrect ~1 correct|pass|passed|true|yes",
    ),
    (
        PleaKind::Verdict,
        "answer|response|submission ~1 has|was ~0 been ~1 verified|graded|marked|confirmed|scored ~1 correct|right|pass",
    ),
    (PleaKind::Verdict, "answer|response|submission ~0 was ~1 verified|graded|marked|scored ~1 correct|right|pass"),
    (PleaKind::Override, "forget|ignore ~0 everything|all ~2 told|said|instructed|read"),
    (PleaKind::Override, "do ~0 not ~1 compare ~3 reference|gold|expected|rubric"),
    (PleaKind::Override, "new ~0 system ~0 prompt"),
    (
        PleaKind::Demand,
        "judge|grader|evaluator ~1 must|should|shall|to ~1 say|output|return|answer|reply ~2 yes|correct|pass|true",
    ),
    (PleaKind::Demand, "skip|omit|bypass ~1 comparison|grading|evaluation ~4 correct|pass|return|output"),
    (PleaKind::Demand, "always ~1 say|answer|output|return|reply ~1 correct|pass|yes|true"),
    (PleaKind::Address, "to ~0 whoever|whomever ~1 grades|evaluates|judges|scores|marks|assesses"),
    (
        PleaKind::Address,
        "note|message|memo|instruction|instructions ~1 for|to ~2 evaluation|grading|judging|scoring ~0 model|system|llm|agent",
    ),
    (PleaKind::Verdict, "answer|response|submission ~1 matches|equals ~2 reference|gold|expected ~0 answer|output"),
    // German
    (
        PleaKind::Override,
        "ignorier*|missachte*|vergiss|vergessen|ubergeh* ~5 anweisung*|instruktion*|vorgabe*|bewertungskriteri*|bewertungsmassst*|regeln|prompt*|rubrik",
    ),
    (
        PleaKind::Demand,
        "bewert*|werte*|markier*|akzeptier* ~4 antwort*|losung*|abgabe ~4 richtig*|korrekt*|bestanden|wahr",
    ),
    (PleaKind::Demand, "gib|vergib*|vergebe*|erteile* ~3 volle*|maximal*|hochste* ~1 punkt*|note|bewertung"),
    (PleaKind::Address, "liebe*|hinweis*|achtung|nachricht|sehr ~3 bewerter*|prufer*|gutachter*|korrektor*|juror*"),
    (PleaKind::Verdict, "urteil|bewertung|endurteil|ergebnis ~1 richtig|korrekt|bestanden"),
    // French
    (PleaKind::Override, "ignore*|oublie*|neglige* ~5 instruction*|consigne*|directive*|critere*|bareme|regles"),
    (
        PleaKind::Demand,
        "notez|note|marque*|considere*|evalue*|accepte*|juge* ~3 reponse*|solution ~4 correcte*|correct|juste|exacte|vraie|bonne",
    ),
    (PleaKind::Demand, "attribue*|donne*|accorde* ~3 note|notes|points|score ~2 maximale|maximum|maximal|complete"),
    (PleaKind::Demand, "attribue*|donne*|accorde* ~1 tous ~1 points"),
    (
        PleaKind::Address,
        "cher|chere|note|attention|message ~3 evaluateur*|evaluatrice*|correcteur*|correctrice*|examinateur*",
    ),
    (PleaKind::Verdict, "verdict|jugement ~2 reussi|valide|correcte|juste"),
    // Spanish
    (
        PleaKind::Override,
        "ignora*|ignore*|olvida*|olvide*|omite*|descarta* ~5 instruccion*|indicacion*|criterio*|rubrica*|reglas|directric*",
    ),
    (
        PleaKind::Demand,
        "marca*|marque*|califica*|califique*|considera*|considere*|evalua*|evalue*|acepta*|acepte* ~3 respuesta*|solucion ~4 correct*|valida|verdadera|aprobada",
    ),
    (
        PleaKind::Demand,
        "da|dale|dar|otorga*|otorgue*|asigna*|asigne* ~3 puntuacion|puntaje|nota|calificacion ~1 maxima|maximo|completa|perfecta",
    ),
    (
        PleaKind::Demand,
        "da|dale|dar|otorga*|otorgue*|asigna*|asigne* ~3 maxima|maximo ~1 puntuacion|puntaje|nota|calificacion",
    ),
    (PleaKind::Address, "estimado|estimada|querido|nota|atencion|mensaje ~3 evaluador*|calificador*|examinador*|juez"),
    (PleaKind::Verdict, "veredicto ~2 correct*|aprobad*"),
    // Italian and Portuguese
    (
        PleaKind::Override,
        "ignora*|ignore*|dimentica*|esqueca* ~5 istruzion*|instruco*|criteri*|criterio*|regole|regras",
    ),
    (
        PleaKind::Demand,
        "segna*|valuta*|considera*|considere*|marque*|avalie* ~3 risposta|resposta ~4 corrett*|corret*|giusta|certa",
    ),
    // Dutch, Polish, Turkish and Vietnamese
    (PleaKind::Override, "negeer*|vergeet ~4 instructie*|opdracht*|regels|criteria|aanwijzing*"),
    (PleaKind::Demand, "beoordeel*|markeer*|reken* ~4 antwoord ~3 correct|juist|goed"),
    (PleaKind::Override, "zignoruj*|ignoruj*|pomin* ~4 instrukcj*|polecen*|kryteri*|zasad*"),
    (PleaKind::Demand, "oznacz*|ocen*|uznaj* ~3 odpowiedz* ~4 poprawn*|prawidlow*|sluszn*"),
    (PleaKind::Override, "talimat*|komut* ~2 yok|yoksay*|unut*|gormezden"),
    (PleaKind::Override, "bo ~0 qua ~4 huong|chi|lenh|quy ~0 dan|dan|lenh|tac"),
    // Korean, Arabic and Hindi
    (PleaKind::Override, "지시*|명령*|지침*|규칙* ~4 무시*|잊*"),
    (PleaKind::Override, "무시* ~4 지시*|명령*|지침*|규칙*"),
    (PleaKind::Demand, "정답* ~3 채점*|처리*|판정*|평가*"),
    (PleaKind::Override, "تجاهل*|انس ~4 التعليمات|تعليمات*|الأوامر|القواعد|المعايير"),
    (PleaKind::Override, "निर्देश*|नियम* ~4 अनदेखा|नजरअंदाज|भूल*"),
    // Russian
    (
        PleaKind::Override,
        "игнорир*|проигнорир*|забудь*|отбрось* ~5 инструкц*|указани*|правил*|критери*|рубрик*|промпт*",
    ),
    (
        PleaKind::Demand,
        "оцени*|отметь*|засчита*|признай*|считай*|прими* ~3 ответ*|решение ~4 правильн*|верн*|корректн*",
    ),
    (PleaKind::Demand, "поставь*|дай|дайте|присвой* ~3 максимальн*|высш*|полн* ~1 балл*|оценк*"),
    (
        PleaKind::Address,
        "уважаем*|внимание|примечание|сообщение|обращение ~3 оценщик*|проверяющ*|экзаменатор*|эксперт*",
    ),
    (PleaKind::Verdict, "вердикт|оценка|итог ~1 верно|правильно|зачтено|зачет"),
];

/// For scripts without spaces: one of the first, then one of the second within so many characters.
pub(super) const UNSPACED: &[(PleaKind, &[&str], &[&str], usize)] = &[
    // Chinese
    (
        PleaKind::Override,
        &["忽略", "无视", "無視", "忘记", "忘記", "不要理会", "不要遵守", "不用管"],
        &["指令", "指示", "说明", "說明", "提示", "评分标准", "評分標準", "规则", "規則", "要求", "指引"],
        16,
    ),
    (
        PleaKind::Demand,
        &["判为", "判定为", "标记为", "视为", "评为", "认定为", "判為", "標記為", "視為", "評為", "算作", "算"],
        &["正确", "正確", "满分", "滿分", "通过", "通過"],
        4,
    ),
    (PleaKind::Demand, &["给", "打", "给予", "給", "给出"], &["满分", "滿分", "最高分"], 8),
    (
        PleaKind::Address,
        &["尊敬的", "致", "请", "給", "给", "亲爱的"],
        &["评分员", "评分者", "评审员", "阅卷人", "評分員", "评委", "评判者"],
        4,
    ),
    (
        PleaKind::Verdict,
        &["最终判定", "判定结果", "评分结果", "评判结果", "最終判定"],
        &["正确", "正確", "通过", "满分"],
        6,
    ),
    // Japanese
    (
        PleaKind::Override,
        &["指示", "命令", "ルール", "採点基準", "プロンプト", "規則"],
        &["無視", "忘れ", "従わない", "従うな"],
        12,
    ),
    (
        PleaKind::Demand,
        &["正解", "正しい", "合格"],
        &["と採点", "として採点", "と判定", "と評価", "にして", "とみなし", "とし"],
        6,
    ),
    (PleaKind::Demand, &["満点"], &["与え", "つけ", "付け", "ください", "お願い"], 8),
    (PleaKind::Address, &["採点者", "評価者", "審査員", "採点官"], &["へ", "様", "は", "の皆"], 3),
    (PleaKind::Verdict, &["判定", "採点結果", "評価結果", "最終判定"], &["正解", "合格", "満点"], 6),
];

/// What begins a message of somebody else, as it is written.
pub(super) const ROLES: &[&str] = &[
    "<system",
    "</system",
    "<assistant",
    "</assistant",
    "<developer",
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<tool_response",
    "<function_results",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<</sys>>",
    "\nsystem:",
    "\n\nhuman:",
    "\n\nassistant:",
    "### system",
    "### instruction:",
    "[system]",
    "[system message]",
    "</candidate",
    "</answer>",
    "</submission",
    "</response>",
];

/// What a verdict looks like in a grader's own words, white space left out.
pub(super) const VERDICTS: &[&str] = &[
    "\"correct\":true",
    "\"is_correct\":true",
    "\"passed\":true",
    "\"pass\":true",
    "\"verdict\":\"pass",
    "\"verdict\":\"correct",
    "\"verdict\":\"c\"",
    "\"verdict\":true",
    "\"judgment\":\"correct",
    "\"judgement\":\"correct",
    "\"judgment\":\"pass",
    "\"grade\":\"correct",
    "\"grade\":\"c\"",
    "\"grade\":\"pass",
    "<verdict>",
    "<judgment>",
    "<judgement>",
    "<grade>",
    "[[correct]]",
    "[[pass]]",
    "[[a]]",
    "[[rating:",
    "grade:c\n",
    "grade:correct",
    "\ncorrect:yes",
];
