package app

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
)

// Side says where an operand is.
type Side uint8

const (
	Local  Side = iota // a file of this machine
	Remote             // below /pfs, on a service
	Stdio              // "-"
)

// Operand is a file or directory as it was typed.
type Operand struct {
	Text  string
	Side  Side
	Path  pfs.Path // of a remote one; may be a pattern
	Local string   // of a local one
	// contents says that a slash stood at the end: what is in the directory, not
	// the directory.
	Contents bool
}

// localPrefix marks a local path that begins with /pfs.
const localPrefix = "file:"

// ParseOperand reads an operand. Remote paths are those that begin with /pfs/.
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

// endsInSlash reports whether text names what is in a directory: "a/", "a/." and
// also "." and "..", which are no names.
func endsInSlash(text string) bool {
	text = filepath.ToSlash(text)
	last := text[strings.LastIndexByte(text, '/')+1:]
	return last == "" || last == "." || last == ".."
}

// newSpelling returns /pfs/DC/home/USER/... for the older /pfs/DC/user/USER/...
func (a *App) newSpelling(p pfs.Path) pfs.Path {
	parts := strings.SplitN(string(p), "/", 6) // "", pfs, DC, user, USER, rest
	if len(parts) < 5 || parts[2] == public || parts[3] != oldHomes {
		return p
	}
	parts[3] = homes
	a.Note("/pfs/%[1]s/user/%[2]s is the old spelling of /pfs/%[1]s/home/%[2]s", parts[2], parts[4])
	return pfs.Path(strings.Join(parts, "/"))
}

// RemoteOperands reads operands that must be on a service.
func (a *App) RemoteOperands(texts []string) ([]Operand, error) {
	var list []Operand
	for _, text := range texts {
		o, err := a.ParseOperand(text)
		if err != nil {
			return nil, err
		}
		if o.Side != Remote {
			return nil, cliargs.Usagef("%q is a path of this machine: those of the service begin with /pfs/%s", text, a.DidYouMeanInHome(text))
		}
		list = append(list, o)
	}
	return list, nil
}

// DidYouMeanInHome makes the end of a message about a path that was typed as one of
// this machine and can be one on the service, with its beginning left out, or one in the
// user's home; "" if that is not known.
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

// Operands reads the operands of a copy.
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

// The tree of a service, as paths of it are spelled here.
const (
	// Top is the directory of all that is on a service.
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

// IsRoot reports whether p is a directory that the service provides, not the user:
// /pfs, /pfs/DC, /pfs/DC/home, /pfs/DC/home/USER, /pfs/DC/public, /pfs/DC/mnt/NAME
// and what leads there.
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

// IsHome reports whether p is a home itself.
func IsHome(p pfs.Path) bool {
	parts := strings.Split(string(p), "/") // "", pfs, DC, home, USER
	return len(parts) == 5 && parts[3] == homes
}

// IsInHome reports whether p is a home or below one.
func IsInHome(p pfs.Path) bool {
	parts := strings.Split(string(p), "/") // "", pfs, DC, home, USER
	return len(parts) >= 5 && parts[3] == homes
}

// AboveStores reports whether p is a directory of the service in which there are stores:
// /pfs, /pfs/DC and /pfs/DC/mnt.
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

// Home returns the user's own directory in the current datacenter.
func (a *App) Home(ctx context.Context) (pfs.Path, error) {
	conn, err := a.Remotes.Current(ctx)
	if err != nil {
		return "", err
	}
	user := conn.Entry.Username
	if user == "" {
		return "", pfs.Errorf("paddlectl.home", "", pfs.Unauthenticated, "datacenter %q has no username", conn.Entry.Name)
	}
	if reason := pfs.CheckName(user); reason != "" {
		return "", pfs.Errorf("paddlectl.home", "", pfs.Invalid, "username %q: %s", user, reason)
	}
	return homeOf(conn.Entry.Name, user), nil
}

// IsOwnHome reports whether p is the home of the user who is logged in there.
func (a *App) IsOwnHome(ctx context.Context, p pfs.Path) bool {
	conn, err := a.Remotes.At(ctx, p)
	return err == nil && pfs.CheckName(conn.Entry.Username) == "" && p == homeOf(datacenter(p), conn.Entry.Username)
}
