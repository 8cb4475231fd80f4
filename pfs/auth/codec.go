package auth

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	fileVersion = 1
	// maxAccountsFile bounds the accounts file, in bytes: about 200,000 accounts.
	maxAccountsFile = 64 << 20
	// maxGeneration bounds the generation, in bytes, which is part of every token.
	maxGeneration = 64
)

const fileHeader = `# Accounts of pfsd. Change them with "pfsd user". A running service follows this
# file; while there is a mistake in it, the service goes on with what it read last.
`

// emptyTable is the table of a service without accounts.
func emptyTable() *table {
	t := &table{Version: fileVersion}
	t.index()
	return t
}

// encode returns the content of the accounts file.
func (t *table) encode() ([]byte, error) {
	b := bytes.NewBufferString(fileHeader)
	enc := yaml.NewEncoder(b)
	enc.SetIndent(2)
	if err := enc.Encode(t); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decode parses the accounts file. It refuses unknown keys and contradictory accounts; errors name
// the line.
func decode(data []byte) (*table, error) {
	if len(data) > maxAccountsFile {
		return nil, fmt.Errorf("%d bytes, the limit is %d", len(data), maxAccountsFile)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	t := new(table)
	if err := dec.Decode(t); err == io.EOF {
		return nil, errors.New(`empty; an accounts file has at least "version: 1"`)
	} else if err != nil {
		return nil, oneLine(err)
	}
	if err := dec.Decode(new(yaml.Node)); err != io.EOF {
		return nil, errors.New("more than one YAML document")
	}
	if err := t.check(data); err != nil {
		return nil, err
	}
	t.index()
	return t, nil
}

// oneLine joins the error list of package yaml into one line.
func oneLine(err error) error {
	var list *yaml.TypeError
	if errors.As(err, &list) {
		return errors.New(strings.Join(list.Errors, "; "))
	}
	return err
}

// check returns the first fault of t, which was read from data.
func (t *table) check(data []byte) (fault error) {
	if t.Version != fileVersion {
		return fmt.Errorf("version %d, this program reads version %d", t.Version, fileVersion)
	}
	at := func(section string, i int, reason string) {
		if fault == nil && reason != "" {
			fault = fmt.Errorf("line %d: %s", lineOf(data, section, i), reason)
		}
	}
	for i, r := range t.Accounts {
		at("accounts", i, r.fault())
	}
	for i, f := range t.Former {
		at("former", i, f.fault())
	}
	if fault == nil {
		t.holders(at)
	}
	return fault
}

// fault explains the first invalid field of r, without regard to other accounts.
func (r record) fault() string {
	if reason := r.Identity.fault(); reason != "" {
		return reason
	}
	if _, err := ParseRole(string(r.Role)); err != nil {
		return fmt.Sprintf("account %q: role %q is not %s, %s or %s", r.Name, r.Role, User, Publisher, Admin)
	}
	if r.Generation == "" || len(r.Generation) > maxGeneration {
		return fmt.Sprintf("account %q: a generation has 1 to %d bytes", r.Name, maxGeneration)
	}
	if _, err := parseHash(r.Password); err != nil {
		return fmt.Sprintf("account %q: password hash: %v", r.Name, err)
	}
	return r.keysFault()
}

// fault explains the first invalid field of id except its role, without regard to other accounts.
func (id Identity) fault() string {
	reason := cmp.Or(CheckName(id.Name), checkHDFSUser(id.HDFSUser), checkID("uid", id.UID), checkID("gid", id.GID))
	if reason != "" {
		reason = fmt.Sprintf("account %q: %s", id.Name, reason)
	}
	return reason
}

// lineOf returns the line of entry number i of a section; 1 if unknown.
func lineOf(data []byte, section string, i int) int {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return 1
	}
	pairs := doc.Content[0].Content
	for k := 0; k+1 < len(pairs); k += 2 {
		if list := pairs[k+1].Content; pairs[k].Value == section && i < len(list) {
			return list[i].Line
		}
	}
	return 1
}
