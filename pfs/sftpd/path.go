package sftpd

import (
	"path"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// Alias is another name for a directory: paths at or below From are paths at or below To. "{user}" in To stands for
// the name of the account.
type Alias struct {
	From, To string
}

// CheckAlias answers Invalid for an alias that cannot work.
func CheckAlias(a Alias) error {
	const op = "sftpd.CheckAlias"
	if _, err := pfs.ParsePath(a.From); err != nil || a.From == "/" || pfs.Path(a.From).Within("/pfs") {
		return pfs.Errorf(op, "", pfs.Invalid, "alias %q: it must be an absolute path outside /pfs, such as /mnt/hdfs", a.From)
	}
	to := strings.ReplaceAll(a.To, "{user}", "user")
	if _, err := pfs.ParsePath(to); err != nil || !pfs.Path(to).Within("/pfs") {
		return pfs.Errorf(op, "", pfs.Invalid, "alias %s leads to %q: it must be a path in /pfs", a.From, a.To)
	}
	return nil
}

// absolute returns the path that a client wrote as an absolute one without ".", ".." and empty elements. ".." is the
// parent by name, as in OpenSSH's own server. Relative paths begin at home.
func absolute(home pfs.Path, name string) string {
	if !strings.HasPrefix(name, "/") {
		name = string(home) + "/" + name
	}
	return path.Clean(name)
}

// resolve returns the path in the tree for one that a client wrote.
func (u *user) resolve(name string) (pfs.Path, error) {
	name = absolute(u.home, name)
	for _, a := range u.aliases {
		if rest, ok := strings.CutPrefix(name, a.From); ok && (rest == "" || rest[0] == '/') {
			name = a.To + rest
			break
		}
	}
	return pfs.ParsePath(name)
}
