# The referee as one static binary on an empty base: no shell, no libc, no
# package manager. The base of the build is pinned by tag; pin it by digest too
# (golang:1.26.8-bookworm@sha256:...) where a registry can be asked for one.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/referee ./cmd/referee

FROM scratch
# The roots by which a TLS connection to Postgres is verified.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/referee /referee
# A number, so that an orchestrator can tell that it is not root.
USER 65532:65532
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 CMD ["/referee", "healthcheck"]
ENTRYPOINT ["/referee"]
CMD ["serve"]
