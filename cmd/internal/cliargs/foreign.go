package cliargs

import "flag"

// Foreign is a one-letter flag of other programs that this one lacks. Its use is an error with the
// alternative. Help texts and completion omit it.
type Foreign struct {
	Letter  string
	Instead string
}

// Apply does nothing: such a flag is never passed on.
func (*Foreign) Apply(*flag.FlagSet) error { return nil }

// Names returns the letter.
func (f *Foreign) Names() []string { return []string{f.Letter} }

// IsSet reports false.
func (*Foreign) IsSet() bool { return false }

// String returns the letter.
func (f *Foreign) String() string { return f.Letter }

// foreignCommands lists names that commands have in other programs, by their names here.
var foreignCommands = map[string][]string{
	"add":    {"create", "new"},
	"cat":    {"less", "more", "type"},
	"cp":     {"copy", "download", "fetch", "get", "pull", "push", "put", "upload"},
	"ls":     {"dir", "list"},
	"mkdir":  {"md"},
	"mv":     {"move", "ren", "rename"},
	"passwd": {"password"},
	"rm":     {"del", "delete", "remove", "rmdir", "unlink"},
	"stat":   {"info"},
	"sync":   {"mirror"},
}
