//go:build tools

// Package programs names what is built from here, so that go.mod keeps it.
package programs

import _ "github.com/k-orc/openstack-resource-controller/v2/cmd/manager"
