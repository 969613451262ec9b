//! App authentication, the calls Capstan makes, webhook payload -> event.
