//go:build tools

// Package programs names what is built from here, so that go.mod keeps it.
package programs

import _ "helm.sh/helm/v4/cmd/helm"
