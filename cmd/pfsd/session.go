package main

import (
	"net"
	"os"
	"strings"
)

// session names this service to the store of a datacenter, the same after a restart: a
// store then lets go at once of what a service that was killed still held. A machine,
// an address to listen at and a datacenter are one service's alone. Without a fixed
// address there is no such name.
func (o serveOptions) session(datacenter string) string {
	host, err := os.Hostname()
	_, port, perr := net.SplitHostPort(o.listen)
	if err != nil || perr != nil || port == "0" {
		return ""
	}
	return strings.Join([]string{program, host, o.listen, datacenter}, "/")
}
