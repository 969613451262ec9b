//! Webhook deliveries: signed, in order, once; and lost, doubled, held and reordered on demand.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use capstan_forge::{DeliveryOrder, Edit, Forge};
use serde_json::Value;

use super::client::as_app;
use super::git_data::acme;
use capstan_test_parts::conformance::assert_conforms;

/// What came in: (event, GUID, whether the signature is right).
type Received = Arc<Mutex<Vec<(String, String, bool)>>>;

/// A receiver that accepts everything, one connection at a time.
fn receiver(secret: String) -> (String, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/github/webhook", listener.local_addr().unwrap());
    let received = Received::default();
    let told = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut text = Vec::new();
            let mut buffer = [0; 65_536];
            loop {
                let read = stream.read(&mut buffer).unwrap_or(0);
                text.extend_from_slice(&buffer[..read]);
                let whole = String::from_utf8_lossy(&text).into_owned();
                let Some((head, body)) = whole.split_once("\r\n\r\n") else { continue };
                let header = |name: &str| {
                    let found = head.lines().find_map(|line| {
                        line.to_lowercase().strip_prefix(&format!("{name}: ")).map(str::to_owned)
                    });
                    found.unwrap_or_default()
                };
                if body.len() < header("content-length").parse::<usize>().unwrap() && read > 0 {
                    continue;
                }
                let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
                let tag: String = hmac::sign(&key, body.as_bytes())
                    .as_ref()
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                let signed = header("x-hub-signature-256") == format!("sha256={tag}");
                told.lock().unwrap().push((header("x-github-event"), header("x-github-delivery"), signed));
                stream
                    .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .ok();
                break;
            }
        }
    });
    (url, received)
}

fn delivered(forge: &Forge) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert!(runtime.block_on(forge.delivered(Duration::from_secs(30))));
}

#[test]
fn deliveries_are_signed_and_come_in_order() {
    let (forge, _) = acme();
    let (url, received) = receiver(forge.app().webhook_secret);
    forge.deliver_to(&url);
    forge.commit("acme/gitops", "main", "alice", "More", &[Edit::write("m", "1")]).unwrap();
    delivered(&forge);
    let events: Vec<String> = received.lock().unwrap().iter().map(|(event, _, _)| event.clone()).collect();
    assert_eq!(events, ["installation", "push", "check_suite"]);
    assert!(received.lock().unwrap().iter().all(|(_, _, signed)| *signed));
    assert!(forge.deliveries().iter().all(|delivery| delivery.status_code == 202));
}

#[test]
fn a_lost_delivery_can_be_found_and_asked_for_again() {
    let (forge, _) = acme();
    let (url, received) = receiver(forge.app().webhook_secret);
    forge.deliver_to(&url);
    delivered(&forge);
    received.lock().unwrap().clear();
    forge.lose_deliveries(2);
    forge.commit("acme/gitops", "main", "alice", "More", &[Edit::write("m", "1")]).unwrap();
    delivered(&forge);
    assert!(received.lock().unwrap().is_empty());
    let failed = as_app(&forge, "GET", "/app/hook/deliveries?status=failure&per_page=1", Value::Null);
    assert!(failed.header("link").unwrap().contains("cursor="));
    let list = as_app(&forge, "GET", "/app/hook/deliveries?per_page=100", Value::Null).body;
    let push = list.as_array().unwrap().iter().find(|item| item["event"] == "push").unwrap().clone();
    assert_eq!(push["status_code"], 502);
    as_app(&forge, "GET", &format!("/app/hook/deliveries/{}", push["id"]), Value::Null);
    let again = as_app(&forge, "POST", &format!("/app/hook/deliveries/{}/attempts", push["id"]), Value::Null);
    assert_eq!(again.status, 202);
    delivered(&forge);
    let came = received.lock().unwrap().clone();
    assert_eq!(came, [("push".to_owned(), push["guid"].as_str().unwrap().to_owned(), true)]);
    assert_conforms(&forge);
}

#[test]
fn deliveries_are_doubled_held_and_reordered_on_demand() {
    let (forge, _) = acme();
    let (url, received) = receiver(forge.app().webhook_secret);
    forge.deliver_to(&url);
    delivered(&forge);
    received.lock().unwrap().clear();
    forge.duplicate_deliveries(1);
    forge.pause_deliveries();
    forge.commit("acme/gitops", "main", "alice", "More", &[Edit::write("m", "1")]).unwrap();
    delivered(&forge);
    assert!(received.lock().unwrap().is_empty());
    forge.resume_deliveries(DeliveryOrder::Reversed);
    delivered(&forge);
    let events: Vec<String> = received.lock().unwrap().iter().map(|(event, _, _)| event.clone()).collect();
    assert_eq!(events, ["check_suite", "push", "push"]);
}
