//! Credentials that are refused, and services that do not answer.

use capstan_live::cloud::{CloudKind, Questions, Unanswered};
use capstan_openstack::OpenStack;
use capstan_ports::{CloudCredential, CloudError, Clouds as _};
use secrecy::SecretString;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::keeper::{Cloud, refused};

/// A login that Keystone refuses shows no byte of it, and what is away is not known. Stops Keystone at its end.
pub(super) async fn refused_and_away(cloud: &mut Cloud) {
    let host = cloud.text("/auth_url").replace("http://", "").replace("/v3", "");
    let refused = |status: u16| CloudError::Refused(refused(&host, status));
    let wrong = cloud.clouds_yaml("gauss", "wr0ng-pa55word");
    assert_eq!(cloud.log_in(&wrong).await.err(), Some(refused(401)));
    // An application credential that was deleted, or never was.
    let deleted = json!({"clouds": {"openstack": {"auth_type": "v3applicationcredential", "auth": {
        "auth_url": cloud.text("/auth_url"),
        "application_credential_id": "0123456789abcdef0123456789abcdef",
        "application_credential_secret": "wr0ng-s3cret",
    }}}})
    .to_string();
    let error = cloud.log_in(&deleted).await.err().unwrap();
    assert_eq!(error, refused(404));
    for text in [error.to_string(), refused(401).to_string()] {
        assert!(!text.contains("wr0ng") && !text.contains("gauss"), "{text}");
    }
    // A service that is stopped: everything else is known still.
    let session = cloud.log_in(&cloud.clouds_yaml("gauss", "gauss-pa55word")).await.unwrap();
    cloud.order("stop nova");
    let questions = Questions { machines: true, networks: true, ..Questions::default() };
    let facts = session.ask(&questions).await;
    let Err(Unanswered(why)) = &facts.machine_types else { unreachable!("Nova is stopped") };
    assert!(why.starts_with("Nova at 127.0.0.1:") && why.ends_with("refuses the connection"), "{why}");
    assert!(facts.compute.is_err());
    assert_eq!(facts.networks.unwrap().len(), 4);
    assert_eq!(facts.network.unwrap().len(), 3);
    // And one that comes back answers the same token.
    cloud.order("start nova");
    let facts = session.ask(&questions).await;
    assert_eq!(facts.machine_types.unwrap().len(), 4);
    // Keystone itself.
    cloud.order("stop keystone");
    let error = cloud.log_in(&wrong).await.err().unwrap();
    assert!(matches!(error, CloudError::Unanswered(_)), "{error}");
}

/// Answers every request with the same words.
async fn stub(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 8192];
                let _read = stream.read(&mut request).await;
                let _written = stream.write_all(answer.as_bytes()).await;
                let _closed = stream.shutdown().await;
            });
        }
    });
    host
}

async fn log_in(host: &str, allowed: &[&str]) -> CloudError {
    let text = json!({"clouds": {"openstack": {"auth": {
        "auth_url": format!("http://{host}"),
        "application_credential_id": "id",
        "application_credential_secret": "s3cr3t-0f-a-cl0ud",
    }}}});
    let credential = CloudCredential {
        kind: CloudKind::OPENSTACK,
        secret: [("clouds.yaml".to_owned(), SecretString::from(text.to_string()))].into(),
        cloud: "openstack".to_owned(),
        region: None,
    };
    let clouds = OpenStack::new(allowed.iter().map(|host| (*host).to_owned()).collect());
    let error = clouds.log_in(&credential).await.err().unwrap();
    assert!(!error.to_string().contains("s3cr3t"), "{error}");
    error
}

#[tokio::test]
async fn a_server_other_than_keystone_refuses_nothing() {
    for (answer, says) in [
        (
            "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            "answers 503 without a token",
        ),
        (
            "HTTP/1.1 404 No\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnone",
            "answers 404 without a token",
        ),
        (
            "HTTP/1.1 201 Made\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
            "answers 201 without a token",
        ),
        (
            "HTTP/1.1 302 Gone\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            "answers 302 without a token",
        ),
    ] {
        let host = stub(answer).await;
        let error = log_in(&host, &[&host]).await;
        assert_eq!(error, CloudError::Unanswered(format!("Keystone at {host} {says}")));
    }
    let refusal = "HTTP/1.1 401 No\r\ncontent-length: 64\r\nconnection: close\r\n\r\n{\"error\":{\"code\":401,\"message\":\"s3cr3t\",\"title\":\"Unauthorized\"}}";
    let host = stub(refusal).await;
    assert_eq!(log_in(&host, &[&host]).await, CloudError::Refused(refused(&host, 401)));
}

#[tokio::test]
async fn only_hosts_that_are_named_are_asked_and_no_password_goes_out_without_tls() {
    let host = stub("HTTP/1.1 201 Made\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(
        log_in(&host, &["cloud.example.com"]).await,
        CloudError::HostNotAllowed { host: host.clone(), allowed: "cloud.example.com".to_owned() }
    );
    let error = log_in("cloud.example.com:5000", &["cloud.example.com:5000"]).await;
    assert!(error.to_string().contains("without TLS"), "{error}");
}
