//! Rung 5: samples asked again.

use proofmark_model::offline::Script;
use proofmark_serve::mock::{Answers, Config};

use crate::live::{call_live, env, provider, questions, suite};

#[test]
fn samples_that_agree_give_rung_5_and_the_seed_repeats_the_choice() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 40);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}\n  - {id: echo, model: \"offline:echo\"}\n", "");
    call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"]).run().expect(0);
    let before = env.tree("run");
    let verify = ["verify", "run", "--live", "12", "--cassette", "tape", "--format", "json"];
    let ran = call_live(&env, &server, &verify).run().expect(0);
    let found = &ran.json()["paths"][0];
    assert_eq!((&found["reached"], &found["answer"]), (&5.into(), &"holds".into()), "{ran}");
    assert_eq!(found["live"]["outcome"]["agree"], 12);
    assert_eq!(found["live"]["text"]["agree"], 12);
    assert!(found["live"]["outcome"]["interval"]["low"].as_f64().unwrap() > 0.7);
    let seed = found["live"]["seed"].as_u64().unwrap().to_string();
    assert!(before.changes(&env.tree("run")).is_empty());
    // The choice is another one each time, unless the seed is given.
    let again = call_live(&env, &server, &[&verify[..], &["--seed", &seed]].concat()).run().expect(0);
    assert_eq!(again.json()["paths"][0]["live"]["seed"].as_u64().unwrap().to_string(), seed);
    let other = call_live(&env, &server, &verify).run().expect(0);
    assert_ne!(other.json()["paths"][0]["live"]["seed"].as_u64().unwrap().to_string(), seed);
    // Without a cassette, rung 4 is left out, which is said.
    let text = call_live(&env, &server, &["verify", "run", "--live", "3"]).run().expect(0);
    text.says(&["reached: rung 5 of 5 (live), with gaps", "rung 4 was left out", "3 samples asked with seed"]);
    // Whoever asks for re-execution too must have one.
    call_live(&env, &server, &["verify", "run", "--live", "3", "--reexecute"]).run().expect(2);
}

#[test]
fn answers_that_a_model_does_not_give_are_found() {
    let echo = provider(Config::default());
    let env = env();
    questions(&env, 30);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}\n", "");
    call_live(&env, &echo, &["run", "suite.yaml", "--run-dir", "run"]).run().expect(0);
    // The model of today knows none of it.
    let script = Script::load_bytes(b"patterns: [{match: '.*', answer: 'no idea'}]\n", "s.yaml").unwrap();
    let other = provider(Config { answers: Answers::Script(Box::new(script)), ..Config::default() });
    let ran = call_live(&env, &other, &["verify", "run", "--live", "20", "--format", "json"]).run().expect(1);
    let found = &ran.json()["paths"][0];
    assert_eq!((&found["live"]["now_fail"], &found["live"]["now_pass"]), (&20.into(), &0.into()), "{ran}");
    assert_eq!((&found["reached"], &found["answer"]), (&3.into(), &"does-not-hold".into()));
    // Too few to tell.
    call_live(&env, &other, &["verify", "run", "--live", "5"])
        .run()
        .expect(0)
        .says(&["0 of 5 pass or fail as recorded"]);
}

#[test]
fn what_live_samples_need_is_said_when_it_is_missing() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 3);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}\n", "");
    call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run().expect(0);
    env.run(&["verify", "run", "--live", "1"]).expect(2).says(&["OPENAI_API_KEY"]);
    env.run(&["verify", "run", "--rung", "5"]).expect(2).complains(&["--live K"]);
    env.run(&["verify", "run", "--rung", "2", "--live", "1"]).expect(2).complains(&["`--rung 2` stops below"]);
    env.run(&["verify", "run", "--seed", "1"]).expect(2);
    let limited = ["verify", "run", "--live", "1", "--max-cost", "1"];
    call_live(&env, &server, &limited).run().expect(2).says(&["the price of `m` is not known"]);
}
