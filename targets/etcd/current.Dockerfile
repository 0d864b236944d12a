# One etcd member of a release that Debian has not got, from a binary that lies beside this file's context.
FROM debian:bookworm-slim

RUN install -d -m 1777 /var/lib/etcd
COPY etcd /usr/local/bin/etcd

WORKDIR /var/lib/etcd
EXPOSE 2379 2380
ENTRYPOINT ["etcd"]
