package sasl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// challenge is the first challenge of DIGEST-MD5.
type challenge struct {
	realm, nonce string
	qops         QOP
	utf8         bool
	ciphers      []string
	maxBuffer    int
}

// parseChallenge checks and returns a challenge.
func parseChallenge(p []byte) (challenge, error) {
	c := challenge{maxBuffer: 65536}
	fields, err := parseDirectives(string(p))
	if err != nil {
		return c, err
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.name] && f.name != "realm" {
			return c, fmt.Errorf("%s is there twice", f.name)
		}
		first := !seen[f.name]
		seen[f.name] = true
		switch f.name {
		case "realm":
			if first { // the others are to choose from
				c.realm = f.value
			}
		case "nonce":
			c.nonce = f.value
		case "qop":
			c.qops = parseQOPs(f.value)
		case "charset":
			c.utf8 = f.value == "utf-8"
		case "cipher":
			c.ciphers = list(f.value)
		case "maxbuf":
			if c.maxBuffer, err = strconv.Atoi(f.value); err != nil || c.maxBuffer <= 16 || c.maxBuffer > 1<<24-1 {
				return c, fmt.Errorf("maxbuf is %q", f.value)
			}
		case "algorithm":
			if f.value != "md5-sess" {
				return c, fmt.Errorf("the algorithm is %q, not md5-sess", f.value)
			}
		}
	}
	if c.nonce == "" || !seen["algorithm"] {
		return c, errors.New("it needs a nonce and an algorithm")
	}
	if !seen["qop"] {
		c.qops = Auth
	}
	return c, nil
}

// parseQOPs ignores names that it does not know.
func parseQOPs(s string) (qops QOP) {
	for _, word := range list(s) {
		for q, name := range names {
			if word == name {
				qops |= q
			}
		}
	}
	return qops
}

// list splits a list at commas.
func list(s string) (words []string) {
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// directive is one name and value. Names are in lower case.
type directive struct{ name, value string }

// parseDirectives parses name=value,name="quoted value",...
func parseDirectives(s string) (all []directive, err error) {
	for {
		s = strings.TrimLeft(s, " \t\r\n,")
		if s == "" {
			return all, nil
		}
		name, rest, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("%.40q has no value", s)
		}
		d := directive{name: strings.ToLower(strings.TrimSpace(name))}
		rest = strings.TrimLeft(rest, " \t\r\n")
		if strings.HasPrefix(rest, `"`) {
			if d.value, s, err = unquote(rest[1:]); err != nil {
				return nil, fmt.Errorf("%s: %w", d.name, err)
			}
		} else {
			end := strings.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			d.value, s = strings.TrimRight(rest[:end], " \t\r\n"), rest[end:]
		}
		if s = strings.TrimLeft(s, " \t\r\n"); s != "" && s[0] != ',' {
			return nil, fmt.Errorf("a comma is missing after %s", d.name)
		}
		all = append(all, d)
	}
}

// unquote returns the string up to the quote, and what follows it.
func unquote(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], nil
		case '\\':
			if i++; i == len(s) {
				return "", "", errors.New("a quote is missing")
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", errors.New("a quote is missing")
}

// quote is the inverse of unquote.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
