package app

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
)

// Side is where an operand is.
type Side uint8

const (
	Local  Side = iota // a local file
	Remote             // below /pfs, on a service
	Stdio              // "-"
)

// Operand is a file or directory as it was typed.
type Operand struct {
	Text  string
	Side  Side
	Path  pfs.Path // of a remote one; may be a pattern
	Local string   // of a local one
	// Contents is true if the operand ends in a slash. It then means the entries of the
	// directory, not the directory.
	Contents bool
}

// localPrefix marks a local path, which may then begin with /pfs.
const localPrefix = "file:"

// ParseOperand parses an operand. Remote paths begin with /pfs/.
func (a *App) ParseOperand(text string) (Operand, error) {
	o := Operand{Text: text, Contents: endsInSlash(text)}
	switch {
	case text == "":
		return o, cliargs.Usagef("an empty path")
	case text == "-":
		o.Side = Stdio
		return o, nil
	case isRemote(text):
		o.Side = Remote
		var err error
		if o.Path, err = pfs.CleanPath(text); err == nil {
			o.Path = a.newSpelling(o.Path)
		}
		return o, err
	}
	o.Local = strings.TrimPrefix(text, localPrefix)
	if o.Local == "" {
		return o, cliargs.Usagef("an empty path: %q", text)
	}
	return o, nil
}

// isRemote reports whether text is a path on a service.
func isRemote(text string) bool {
	rest := strings.TrimLeft(text, "/")
	return rest != text && (rest == "pfs" || strings.HasPrefix(rest, "pfs/"))
}

// endsInSlash reports whether text means the entries of a directory: "a/", "a/.", "." and "..".
func endsInSlash(text string) bool {
	text = filepath.ToSlash(text)
	last := text[strings.LastIndexByte(text, '/')+1:]
	return last == "" || last == "." || last == ".."
}

// newSpelling returns /pfs/DC/home/USER/... for the old spelling /pfs/DC/user/USER/...
func (a *App) newSpelling(p pfs.Path) pfs.Path {
	parts := strings.SplitN(string(p), "/", 6) // "", pfs, DC, user, USER, rest
	if len(parts) < 5 || parts[2] == public || parts[3] != oldHomes {
		return p
	}
	parts[3] = homes
	a.Note("/pfs/%[1]s/user/%[2]s is the old spelling of /pfs/%[1]s/home/%[2]s", parts[2], parts[4])
	return pfs.Path(strings.Join(parts, "/"))
}

// RemoteOperands parses operands that must be on a service.
func (a *App) RemoteOperands(texts []string) ([]Operand, error) {
	var list []Operand
	for _, text := range texts {
		o, err := a.ParseOperand(text)
		if err != nil {
			return nil, err
		}
		if o.Side != Remote {
			return nil, cliargs.Usagef("%q is a local path: paths of the service begin with /pfs/%s", text, a.DidYouMeanInHome(text))
		}
		list = append(list, o)
	}
	return list, nil
}

// DidYouMeanInHome returns the end of a message about a local path that probably means one on
// the service: a path without its beginning, or one in the user's home. It returns "" if
// there is no such path.
func (a *App) DidYouMeanInHome(text string) string {
	file, err := a.Remotes.Config()
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
	beginnings := []pfs.Path{pfs.Root, Top, Top.Join(e.Name), home}
	if strings.HasPrefix(text, "/") {
		beginnings = beginnings[:3]
	}
	for _, beginning := range beginnings {
		p, err := pfs.CleanPath(string(beginning) + "/" + text)
		if err != nil {
			return ""
		}
		inPublic := p.Within(CurrentPublic) || p.Within(Top.Join(e.Name).Join(public))
		if beginning == pfs.Root && p.Within(Top) || p.Within(home) || inPublic {
			return ": did you mean " + ShellWord(string(p)) + "?"
		}
	}
	return ""
}

// Operands parses the operands of a copy.
func (a *App) Operands(texts []string) ([]Operand, error) {
	var list []Operand
	for _, text := range texts {
		o, err := a.ParseOperand(text)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// The fixed names in the tree of a service.
const (
	// Top is the root of the tree of a service.
	Top = pfs.Path("/pfs")
	// CurrentPublic is the public directory of the current datacenter.
	CurrentPublic = Top + "/" + public

	homes    = "home"
	public   = "public"
	mapped   = "mnt"
	datasets = "dataset" // in public
	oldHomes = "user"    // the old spelling of homes
)

// datacenter returns the element after /pfs; "" if there is none.
func datacenter(p pfs.Path) string {
	parts := strings.SplitN(string(p), "/", 4)
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

// IsRoot reports whether the service provides the directory p, not the user: /pfs, /pfs/DC,
// /pfs/DC/home, /pfs/DC/home/USER, /pfs/DC/public, /pfs/DC/mnt/NAME and their parents.
func IsRoot(p pfs.Path) bool {
	parts := strings.Split(string(p), "/")[1:]
	switch {
	case len(parts) <= 2:
		return true
	case parts[1] == public:
		return false
	case len(parts) == 3:
		return true
	}
	return len(parts) == 4 && (parts[2] == homes || parts[2] == mapped)
}

func homeOf(dc, user string) pfs.Path {
	return Top.Join(dc).Join(homes).Join(user)
}

// IsHome reports whether p is a home.
func IsHome(p pfs.Path) bool {
	parts := strings.Split(string(p), "/") // "", pfs, DC, home, USER
	return len(parts) == 5 && parts[3] == homes
}

// IsInHome reports whether p is a home or below one.
func IsInHome(p pfs.Path) bool {
	parts := strings.Split(string(p), "/") // "", pfs, DC, home, USER
	return len(parts) >= 5 && parts[3] == homes
}

// AboveStores reports whether the entries of p may be in different stores: /pfs, /pfs/DC and
// /pfs/DC/mnt.
func AboveStores(p pfs.Path) bool {
	if p.Base() == mapped && p.Parent().Parent() == Top && p.Parent() != CurrentPublic {
		return true
	}
	return p == Top || p.Parent() == Top && p != CurrentPublic
}

// IsPublicDataset reports whether p is /pfs/DC/public/dataset/NAME or
// /pfs/public/dataset/NAME.
func IsPublicDataset(p pfs.Path) bool {
	parts := strings.Split(string(p), "/")[2:]
	if len(parts) > 0 && parts[0] != public {
		parts = parts[1:]
	}
	return len(parts) == 3 && parts[0] == public && parts[1] == datasets
}

// Home returns the user's home in the current datacenter.
func (a *App) Home(ctx context.Context) (pfs.Path, error) {
	conn, err := a.Remotes.Current(ctx)
	if err != nil {
		return "", err
	}
	user := conn.Entry.Username
	if user == "" {
		return "", pfs.Errorf("app.home", "", pfs.Unauthenticated, "datacenter %q has no username", conn.Entry.Name)
	}
	if reason := pfs.CheckName(user); reason != "" {
		return "", pfs.Errorf("app.home", "", pfs.Invalid, "username %q: %s", user, reason)
	}
	return homeOf(conn.Entry.Name, user), nil
}

// IsOwnHome reports whether p is the home of the user who is logged in at its service.
func (a *App) IsOwnHome(ctx context.Context, p pfs.Path) bool {
	conn, err := a.Remotes.At(ctx, p)
	return err == nil && pfs.CheckName(conn.Entry.Username) == "" && p == homeOf(datacenter(p), conn.Entry.Username)
}
