module capstan.dev/tests/helm/operator

go 1.26.0

// Its files alone are taken, no package: `go mod tidy` would drop it.
require github.com/prometheus-operator/prometheus-operator v0.85.0
