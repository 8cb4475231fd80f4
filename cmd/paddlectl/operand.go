package main

import (
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
)

// side says where an operand is.
type side uint8

const (
	local  side = iota // a file of this machine
	remote             // below /pfs, on a service
	stdio              // "-"
)

// operand is a file or directory as it was typed.
type operand struct {
	text  string
	side  side
	path  pfs.Path // of a remote one; may be a pattern
	local string   // of a local one
	// contents says that a slash stood at the end: what is in the directory, not
	// the directory.
	contents bool
}

// localPrefix marks a local path that begins with /pfs.
const localPrefix = "file:"

// parseOperand reads an operand. Remote paths are those that begin with /pfs/.
func (d *deps) parseOperand(text string) (operand, error) {
	o := operand{text: text, contents: endsInSlash(text)}
	switch {
	case text == "":
		return o, cliargs.Usagef("an empty path")
	case text == "-":
		o.side = stdio
		return o, nil
	case isRemote(text):
		o.side = remote
		var err error
		if o.path, err = pfs.CleanPath(text); err == nil {
			o.path = d.newSpelling(o.path)
		}
		return o, err
	}
	o.local = strings.TrimPrefix(text, localPrefix)
	if o.local == "" {
		return o, cliargs.Usagef("an empty path: %q", text)
	}
	return o, nil
}

// isRemote reports whether text is a path on a service.
func isRemote(text string) bool {
	rest := strings.TrimLeft(text, "/")
	return rest != text && (rest == "pfs" || strings.HasPrefix(rest, "pfs/"))
}

// endsInSlash reports whether text names what is in a directory: "a/", "a/." and
// also "." and "..", which are no names.
func endsInSlash(text string) bool {
	text = filepath.ToSlash(text)
	last := text[strings.LastIndexByte(text, '/')+1:]
	return last == "" || last == "." || last == ".."
}

// newSpelling returns /pfs/DC/home/USER/... for the older /pfs/DC/user/USER/...
func (d *deps) newSpelling(p pfs.Path) pfs.Path {
	parts := strings.SplitN(string(p), "/", 6) // "", pfs, DC, user, USER, rest
	if len(parts) < 5 || parts[2] == public || parts[3] != oldHomes {
		return p
	}
	parts[3] = homes
	d.out.Note("/pfs/%[1]s/user/%[2]s is the old spelling of /pfs/%[1]s/home/%[2]s", parts[2], parts[4])
	return pfs.Path(strings.Join(parts, "/"))
}

// remoteOperands reads operands that must be on a service.
func (d *deps) remoteOperands(texts []string) ([]operand, error) {
	var list []operand
	for _, text := range texts {
		o, err := d.parseOperand(text)
		if err != nil {
			return nil, err
		}
		if o.side != remote {
			return nil, cliargs.Usagef("%q is a path of this machine: those of the service begin with /pfs/%s", text, d.didYouMeanInHome(text))
		}
		list = append(list, o)
	}
	return list, nil
}

// didYouMeanInHome makes the end of a message about a path that was typed as one of
// this machine and can be one on the service, with its beginning left out, or one in the
// user's home; "" if that is not known.
func (d *deps) didYouMeanInHome(text string) string {
	file, err := d.remotes.config()
	if err != nil || text == "-" || strings.HasPrefix(text, localPrefix) {
		return ""
	}
	e, err := file.Current()
	if err != nil || pfs.CheckName(e.Username) != "" {
		return ""
	}
	if text == "~" || strings.HasPrefix(text, "~/") { // quoted
		text = "." + text[1:]
	}
	home := homeOf(e.Name, e.Username)
	beginnings := []pfs.Path{pfs.Root, top, top.Join(e.Name), home}
	if strings.HasPrefix(text, "/") {
		beginnings = beginnings[:3]
	}
	for _, beginning := range beginnings {
		p, err := pfs.CleanPath(string(beginning) + "/" + text)
		if err != nil {
			return ""
		}
		inPublic := p.Within(currentPublic) || p.Within(top.Join(e.Name).Join(public))
		if beginning == pfs.Root && p.Within(top) || p.Within(home) || inPublic {
			return ": did you mean " + shellWord(string(p)) + "?"
		}
	}
	return ""
}
