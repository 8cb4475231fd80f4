package main

import (
	"testing"
)

// A service has the same name after a restart, and another one for each datacenter and address.
// Without a fixed address it has no name.
func TestSession(t *testing.T) {
	o := serveOptions{listen: "127.0.0.1:8730"}
	name := o.session("dc1")
	if name == "" || name != o.session("dc1") {
		t.Errorf("session %q, then %q", name, o.session("dc1"))
	}
	if other := o.session("dc2"); other == name {
		t.Errorf("two datacenters have the session %q", other)
	}
	if other := (serveOptions{listen: "127.0.0.1:8731"}).session("dc1"); other == name {
		t.Errorf("two addresses have the session %q", other)
	}
	for _, listen := range []string{"127.0.0.1:0", "nonsense"} {
		if got := (serveOptions{listen: listen}).session("dc1"); got != "" {
			t.Errorf("at %q the session is %q, want none", listen, got)
		}
	}
}
