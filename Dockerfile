# syntax=docker/dockerfile:1
# A small image with nothing but the program, linked statically, and the certificates of public CAs:
#   docker build -t capstan .
# The program is linked with glibc, statically: names are looked up in /etc/hosts and by DNS, which glibc does without
# loading anything since 2.34; other services of /etc/nsswitch.conf (LDAP, mDNS) are not asked. Random bytes come from
# /dev/urandom, which every runtime mounts.
# With ssh, for Fleets whose Git repository is reached by SSH: docker build --target ssh -t capstan:ssh .
# .dockerignore says what goes in. For another architecture build on one of its kind (or let docker emulate it).

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates make \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /capstan
COPY . .
ENV CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=symbols
# Where the book of docs/ is published, so that findings name its pages: --build-arg CAPSTAN_DOCUMENTATION_URL=https://…
ARG CAPSTAN_DOCUMENTATION_URL
# With traces: --build-arg FEATURES=otlp
ARG FEATURES
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/capstan/target \
    target="$(uname -m)-unknown-linux-gnu" \
 && RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --release --locked --features "$FEATURES" --bin capstan --target "$target" \
 && cp "target/$target/release/capstan" /usr/local/bin/capstan

FROM alpine:3.22 AS ssh
# ssh refuses a user that has no name.
RUN apk add --no-cache ca-certificates openssh-client-default \
 && adduser -D -H -u 65532 -s /sbin/nologin capstan
COPY --from=build /usr/local/bin/capstan /usr/local/bin/capstan
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/capstan"]

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/bin/capstan /usr/local/bin/capstan
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/capstan"]
