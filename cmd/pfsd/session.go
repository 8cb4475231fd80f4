package main

import (
	"net"
	"os"
	"strings"
)

// session returns the name of this service for the store of a datacenter, the same after a restart:
// the store then immediately releases what a killed process still held. It is unique by machine,
// address and datacenter. Without a fixed address there is no such name.
func (o serveOptions) session(datacenter string) string {
	host, err := os.Hostname()
	_, port, perr := net.SplitHostPort(o.listen)
	if err != nil || perr != nil || port == "0" {
		return ""
	}
	return strings.Join([]string{program, host, o.listen, datacenter}, "/")
}
