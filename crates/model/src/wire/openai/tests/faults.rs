use super::*;
use crate::class::Class;
use crate::wire::openai::{Images, Responses};
use crate::wire::{Refused, Then};

fn error(members: &str) -> String {
    format!(r#"{{"error":{{"message":"m",{members}}}}}"#)
}

#[test]
fn a_refusal_means_what_its_words_say() {
    use Class::{Auth, BadRequest, ContentFilter, RateLimited, Server, Timeout};
    use Then::{Fail, Retry, Stop};
    let cases = [
        (401, error(r#""type":"invalid_request_error","param":null,"code":"invalid_api_key""#), Auth, Stop),
        (401, error(r#""code":"401""#), Auth, Stop),
        (402, error(r#""code":402"#), Auth, Stop),
        (403, error(r#""type":"request_forbidden","code":"unsupported_country_region_territory""#), Auth, Stop),
        (429, error(r#""type":"insufficient_quota","code":"insufficient_quota""#), Auth, Stop),
        (400, error(r#""type":"image_generation_user_error","code":"billing_hard_limit_reached""#), Auth, Stop),
        (429, error(r#""type":"requests","code":"rate_limit_exceeded""#), RateLimited, Retry),
        (404, error(r#""type":"invalid_request_error","code":"model_not_found""#), BadRequest, Stop),
        (400, error(r#""type":"invalid_request_error","code":"model_not_found""#), BadRequest, Stop),
        (404, error(r#""code":"DeploymentNotFound""#), BadRequest, Stop),
        (404, r#"{"detail":"Not Found"}"#.to_owned(), BadRequest, Stop),
        (400, error(r#""type":"invalid_request_error","code":"context_length_exceeded""#), BadRequest, Fail),
        (
            400,
            error(r#""type":"invalid_request_error","param":"temperature","code":"unsupported_value""#),
            BadRequest,
            Fail,
        ),
        (422, r#"{"detail":[{"loc":["body"],"msg":"missing"}]}"#.to_owned(), BadRequest, Fail),
        (
            400,
            error(
                r#""code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"}}}"#,
            ),
            ContentFilter,
            Fail,
        ),
        (400, error(r#""innererror":{"code":"ResponsibleAIPolicyViolation"}"#), ContentFilter, Fail),
        (400, error(r#""type":"invalid_request_error","code":"content_policy_violation""#), ContentFilter, Fail),
        (400, error(r#""type":"invalid_request_error","code":"invalid_prompt""#), ContentFilter, Fail),
        (400, error(r#""type":"image_generation_user_error","code":"moderation_blocked""#), ContentFilter, Fail),
        (
            403,
            error(r#""code":403,"metadata":{"reasons":["violence"],"flagged_input":"x","provider_name":"p"}"#),
            ContentFilter,
            Fail,
        ),
        (403, error(r#""code":403,"metadata":{"error_type":"content_policy_violation"}"#), ContentFilter, Fail),
        (400, error(r#""code":400,"metadata":{"error_type":"invalid_prompt"}"#), BadRequest, Fail),
        (403, error(r#""code":403,"metadata":{"reasons":[]}"#), Auth, Stop),
        (408, error(r#""code":408"#), Timeout, Retry),
        (500, error(r#""type":"server_error""#), Server, Retry),
        (502, error(r#""code":502,"metadata":{"raw":"x"}"#), Server, Retry),
        (503, error(r#""type":"engine_overloaded""#), Server, Retry),
        (529, "{}".to_owned(), RateLimited, Retry),
    ];
    for (status, body, class, then) in cases {
        for wire in [&OPENAI as &dyn Wire, &COMPATIBLE, &Responses, &Images] {
            let refused = wire.refuse(status, body.as_bytes());
            assert_eq!((refused.class, refused.then), (class, then), "{status} {body}");
        }
    }
}

#[test]
fn the_message_is_found_in_whichever_shape_it_comes() {
    let cases = [
        (r#"{"error":{"message":"why"}}"#, "why"),
        (r#"{"error":"why"}"#, "why"),
        (r#"[{"error":{"message":"why"}}]"#, "why"),
        (r#"{"object":"error","message":"why","code":400}"#, "why"),
        (r#"{"message":"why"}"#, "why"),
        (r#"{"detail":"why"}"#, "why"),
        (r#"{"error":{"type":"t","code":"c"}}"#, "c, t"),
        ("{}", "the server answered 400 and gave no reason"),
        ("[]", "the server answered 400 and gave no reason"),
        (r#"{"error":{"message":5}}"#, "the server answered 400 and gave no reason"),
        (r#"{"detail":[{"msg":"why"}]}"#, "the server answered 400 and gave no reason"),
    ];
    for (body, message) in cases {
        assert_eq!(OPENAI.refuse(400, body.as_bytes()).message, message, "{body}");
    }
}

#[test]
fn the_page_of_a_proxy_is_never_repeated() {
    for body in ["<html><body>secret</body></html>", "", "upstream", "{\"error\":"] {
        let refused = COMPATIBLE.refuse(502, body.as_bytes());
        let message = "the server answered 502 with a body that is not JSON".to_owned();
        assert_eq!(refused, Refused { class: Class::Server, message, then: Then::Retry });
    }
}
