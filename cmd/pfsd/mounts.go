package main

import (
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"go.yaml.in/yaml/v3"
)

// mountKeys are the keys of a mapped directory.
var mountKeys = []string{"path", "access", "write", "as-user"}

// The forms of an entry in an access list.
const (
	accessEverybody = "everybody"
	accessUser      = "user:"
	accessRole      = "role:"
)

// parseMounts parses the mapping of names to directories of the store.
func (f *configFile) parseMounts(m *yaml.Node) (mounts []namespace.MappedDir, err error) {
	err = f.file.EachPairOf(keyMounts, m, `names of mapped directories belong, each with its "path:" and "access:"`, nil, func(name string, v *yaml.Node) error {
		mount, err := f.parseMount(name, v)
		mounts = append(mounts, mount)
		return err
	})
	return mounts, err
}

func (f *configFile) parseMount(name string, m *yaml.Node) (namespace.MappedDir, error) {
	mount := namespace.MappedDir{Name: name, ReadOnly: true}
	listed := false
	err := f.file.EachPairOf(fmt.Sprintf("mapped directory %q", name), m, `"path:" and "access:" belong`, mountKeys, func(key string, v *yaml.Node) (err error) {
		switch key {
		case "path":
			mount.Dir, err = f.parsePath(key, v)
		case "access":
			listed = true
			mount.Access, err = f.parseAccess(v)
		case "write":
			mount.ReadOnly, err = f.file.Flag(key, v)
			mount.ReadOnly = !mount.ReadOnly
		case "as-user":
			mount.AsUser, err = f.file.Flag(key, v)
		}
		return err
	})
	switch {
	case err != nil:
	case mount.Dir == "":
		err = f.file.Errorf(m.Line, "mapped directory %q: \"path:\" is missing: the directory of the store", name)
	case !listed:
		err = f.file.Errorf(m.Line, "mapped directory %q: \"access:\" is missing: who may enter it", name)
	}
	return mount, err
}

// parsePath parses a path on the store.
func (f *configFile) parsePath(key string, v *yaml.Node) (pfs.Path, error) {
	text, err := f.file.Text(key, v)
	if err != nil {
		return "", err
	}
	name, err := pfs.ParsePath(text)
	if err != nil {
		return "", f.file.Errorf(v.Line, "%s: %q is not a path on the store: it begins with \"/\" and has neither \"..\" nor a \"/\" at its end", key, text)
	}
	return name, nil
}

// parseAccess parses the access list of a mapped directory: one entry, or a list.
func (f *configFile) parseAccess(v *yaml.Node) (access namespace.AccessList, err error) {
	entries := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		entries = v.Content
	}
	for _, entry := range entries {
		text, err := f.file.Text("access", entry)
		if err != nil {
			return access, err
		}
		user, isUser := strings.CutPrefix(text, accessUser)
		role, isRole := strings.CutPrefix(text, accessRole)
		known, roleErr := auth.ParseRole(role)
		switch {
		case text == accessEverybody:
			access.Everybody = true
		case isUser && auth.CheckName(user) == "":
			access.Users = append(access.Users, user)
		case isRole && roleErr == nil:
			access.Roles = append(access.Roles, known)
		default:
			return access, f.file.Errorf(entry.Line, "access: %q is not %q, %sNAME or %suser|publisher|admin", text, accessEverybody, accessUser, accessRole)
		}
	}
	return access, nil
}
