package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/strictyaml"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"go.yaml.in/yaml/v3"
)

// The keys of the file, and those of an entry in the order of new entries.
const (
	keyDatacenters = "datacenters"
	keyCurrent     = "current-datacenter"
)

var entryKeys = []string{
	"name", "active", "username", "password", "usercert", "userkey", "endpoint", "fingerprint", "insecure",
}

// Parse parses a configuration. name is the file's name, for messages.
func Parse(name string, data []byte) (*File, error) {
	f := &File{Name: name}
	root, err := f.yaml().Parse(data, `"datacenters:" and "current-datacenter:"`)
	if err != nil {
		return nil, err
	}
	f.doc = newDocument(root)
	err = f.yaml().EachPair(f.doc.top, []string{keyDatacenters, keyCurrent}, func(key string, value *yaml.Node) error {
		if key == keyDatacenters {
			return f.parseEntries(value)
		}
		f.currentLine = value.Line
		f.current, err = f.yaml().Text(key, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.disableDoubles()
	return f, nil
}

func (f *File) parseEntries(list *yaml.Node) error {
	if strictyaml.IsNull(list) {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return f.errorf(list.Line, "datacenters: %s where a list of entries (\"- name: ...\") belongs", strictyaml.KindName(list))
	}
	for _, n := range list.Content {
		e := Entry{Line: n.Line}
		if e.Err = f.parseEntry(n, &e); e.Err == nil {
			e.Err = f.checkEntry(&e)
		}
		f.Entries = append(f.Entries, e)
	}
	return nil
}

// parseEntry parses as much of an entry as it can, so that an entry with a mistake still has its
// name.
func (f *File) parseEntry(n *yaml.Node, e *Entry) (first error) {
	if n.Kind != yaml.MappingNode {
		return f.errorf(n.Line, "%s where an entry (\"name: ...\") belongs", strictyaml.KindName(n))
	}
	texts := map[string]*string{
		"name": &e.Name, "username": &e.Username, "password": &e.Password, "usercert": &e.UserCert,
		"userkey": &e.UserKey, "endpoint": &e.Endpoint, "fingerprint": &e.Fingerprint,
	}
	flags := map[string]*bool{"active": &e.Active, "insecure": &e.Insecure}
	err := f.yaml().EachPair(n, entryKeys, func(key string, v *yaml.Node) error {
		var err error
		if to := texts[key]; to != nil {
			*to, err = f.yaml().Text(key, v)
		} else {
			*flags[key], err = f.yaml().Flag(key, v)
		}
		if first == nil {
			first = err
		}
		return nil
	})
	if first == nil {
		first = err
	}
	return first
}

// checkEntry refuses invalid values.
func (f *File) checkEntry(e *Entry) error {
	if reason := checkName(e.Name); reason != "" {
		return f.errorf(e.Line, "name: %s", reason)
	}
	endpoint, err := ParseEndpoint(e.Endpoint)
	if err != nil {
		return f.errorf(e.Line, "datacenter %q: endpoint: %v", e.Name, err)
	}
	e.Endpoint = endpoint
	if e.Fingerprint != "" {
		pinned, err := client.ParseFingerprint(e.Fingerprint)
		if err != nil {
			return f.errorf(e.Line, "datacenter %q: fingerprint %q is not a SHA-256: 64 hexadecimal digits are needed",
				e.Name, e.Fingerprint)
		}
		e.Fingerprint = pinned
	}
	if e.UserCert != "" || e.UserKey != "" {
		f.warn("%s:%d: usercert and userkey of %q are not used: the service asks for a login, not for a client's certificate",
			f.Name, e.Line, e.Name)
	}
	return nil
}

// checkName explains why name cannot name a datacenter; "" if it can.
func checkName(name string) string {
	switch {
	case name == "":
		return "an entry needs a name"
	case name == "public":
		return "\"public\" has a meaning of its own in paths (/pfs/public): choose another name"
	}
	if reason := pfs.CheckName(name); reason != "" {
		return fmt.Sprintf("%s (it is a part of paths: /pfs/NAME/...)", reason)
	}
	return ""
}

// disableDoubles disables entries with the same name, since it would be ambiguous.
func (f *File) disableDoubles() {
	first := map[string]*Entry{}
	for i := range f.Entries {
		e := &f.Entries[i]
		if e.Name == "" {
			continue
		}
		if o := first[e.Name]; o != nil {
			e.Err = f.errorf(e.Line, "a second datacenter %q, there is one on line %d", e.Name, o.Line)
			o.Err = f.errorf(o.Line, "a second datacenter %q is on line %d", e.Name, e.Line)
			continue
		}
		first[e.Name] = e
	}
}

// ParseEndpoint checks the address of a service and returns it without a trailing slash. The
// default scheme is https.
func ParseEndpoint(s string) (string, error) {
	if s == "" {
		return "", errors.New("the address of the service is missing: https://HOST:PORT")
	}
	if strings.Contains(s, "@") { // not repeated: it may contain a password
		return "", errors.New("a user name or password does not belong in the address: paddlectl login asks for them")
	}
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is not an address like https://HOST:PORT", s)
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "", u.RawQuery != "", u.Fragment != "":
		return "", fmt.Errorf("%q is not an address like https://HOST:PORT", s)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", fmt.Errorf("%q: a port is a number from 1 to 65535", s)
		}
	}
	return strings.TrimRight(u.String(), "/"), nil
}
