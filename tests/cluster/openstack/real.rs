//! The stories on Keystone, Glance, Nova, Neutron and Cinder themselves: one cloud for all of them.

use super::keeper::Cloud;
use super::{heads, lives, orc, renewing, rows, strangers};

#[tokio::test]
async fn preflights_and_credentials_against_the_services_themselves() {
    let Some(mut cloud) = Cloud::start() else { return };
    rows::each_row_is_reported(&mut cloud).await;
    heads::a_head_is_tried(&cloud).await;
    renewing::credentials_are_renewed(&cloud).await;
    lives::credentials_live(&cloud).await;
    orc::machines_wait_for_what_orc_makes(&mut cloud).await;
    strangers::refused_and_away(&mut cloud).await;
}
