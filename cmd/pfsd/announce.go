package main

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// say writes a line for people and for scripts that wait for it.
func (m *Main) say(line string) { fmt.Fprintln(m.Stderr, cliio.Escape(line)) }

// announcement returns the lines that state the address and how to log in. The last line says that
// clients can connect.
func (s *service) announcement(front net.Addr, metrics net.Listener) []string {
	scheme := "https"
	if s.cert == nil {
		scheme = "http"
	}
	lines := []string{fmt.Sprintf("pfsd %s keeps accounts and keys in %s", version, s.opts.data)}
	for _, dc := range s.opts.datacenters {
		current := ""
		if dc.name == s.opts.current {
			current = ", the current one"
		}
		state := ""
		if slices.Contains(s.late, dc.name) {
			state = "; NO ANSWER, trying on"
		}
		lines = append(lines, fmt.Sprintf("datacenter %s: %s%s%s", dc.name, dc.store.URL, current, state))
	}
	login := "paddlectl login --endpoint " + endpoint(scheme, front) + " --username NAME"
	if s.cert != nil {
		lines = append(lines, fmt.Sprintf("certificate: SHA-256 fingerprint %s, until %s", s.fingerprint(), s.cert.Leaf().NotAfter.Format(time.DateOnly)))
		if s.opts.tlsCert == "" {
			login += " --fingerprint " + s.fingerprint()
		}
	}
	lines = append(lines, "to add a user: pfsd user add NAME --data "+shellQuote(s.opts.data), "to log in: "+login, "to browse: "+endpoint(scheme, front)+"/ui/")
	lines = append(lines, s.announceSFTP()...)
	if metrics != nil {
		lines = append(lines, fmt.Sprintf("metrics on http://%s/metrics", metrics.Addr()))
	}
	if s.webhdfs != nil {
		scheme := "http"
		if s.opts.webhdfs.withTLS() {
			scheme = "https"
		}
		lines = append(lines, "WebHDFS on "+endpoint(scheme, s.webhdfs.Addr())+"/webhdfs/v1")
	}
	return append(lines, fmt.Sprintf("listening on %s://%s", scheme, front))
}

func (s *service) fingerprint() string { return auth.Fingerprint(s.cert.Leaf()) }

// warnOfExpiry warns that clients will refuse the certificate.
func (s *service) warnOfExpiry() {
	if s.cert == nil {
		return
	}
	const soon = 14 * 24 * time.Hour
	if until := s.cert.Leaf().NotAfter; time.Until(until) < soon {
		s.log.Warn("the certificate expires soon or has expired", "until", until)
	}
}

// shellQuote quotes s for a shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+@%:,=", r) || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
