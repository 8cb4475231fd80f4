package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/internal/nearest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// WayOut returns the hint for an error, or "" if the error's text is enough or the user can do
// nothing.
func (a *App) WayOut(err error) string {
	var pin *client.PinError
	var usage *cliargs.UsageError
	var name *transfer.NameError
	var h Hinted
	var damage *recordio.Error
	switch {
	case errors.Is(err, config.ErrNoAccount):
		return "" // no login helps
	case errors.As(err, &h):
		return h.way
	case errors.As(err, &pin):
		return a.pinLine(err, pin)
	case errors.As(err, &name):
		return renameLine(name)
	case errors.As(err, &usage):
		return ""
	case errors.As(err, &damage):
		return a.damageLine(damage)
	}
	switch pfs.KindOf(err) {
	case pfs.Unauthenticated:
		return a.loginLine(err)
	case pfs.Quota:
		return a.quotaLine(err)
	case pfs.NoSpace:
		return a.spaceLine(err)
	case pfs.Unavailable, pfs.Limit:
		return a.unavailableHint(err)
	case pfs.Conflict:
		return "look again, then repeat the command"
	case pfs.NotExist, pfs.ReadOnly, pfs.Permission:
		return a.placeLine(err)
	}
	return ""
}

// fixedNames are the entries of /pfs/DC.
var fixedNames = []string{homes, public, mapped, oldHomes}

// isFixed reports whether p is below or above one of the directories in fixedNames, or one of
// them.
func isFixed(p pfs.Path) bool {
	parts := strings.Split(string(p), "/") // "", pfs, DC, home, USER
	return len(parts) < 4 || parts[2] == public || slices.Contains(fixedNames, parts[3])
}

// placeLine returns the hint for an error about a path at which the user may have no files. It
// suggests the path that was probably meant, if a directory of the datacenter or the name of
// the home is misspelt, else the user's home. For other errors it returns "".
func (a *App) placeLine(err error) string {
	var e *pfs.Error
	if !errors.As(err, &e) || !e.Path.Within(Top) {
		return ""
	}
	parts := strings.Split(string(e.Path), "/") // "", pfs, DC, home, USER
	fixed := isFixed(e.Path)
	if !fixed {
		parts[3] = nearest.Word(parts[3], fixedNames)
		if parts[3] == oldHomes {
			parts[3] = homes
		}
	}
	if fixed && (e.Kind != pfs.Permission || !IsInHome(e.Path)) {
		return ""
	}
	user := "" // the user who is logged in at the service
	if file, cerr := a.Remotes.Config(); cerr == nil {
		if own, cerr := entryOf(file, err); cerr == nil && pfs.CheckName(own.Username) == "" {
			user = own.Username
		}
	}
	if len(parts) > 4 && parts[3] == homes && nearest.Word(parts[4], []string{user}) != "" {
		parts[4] = user
	}
	switch meant := strings.Join(parts, "/"); {
	case parts[3] != "" && meant != string(e.Path):
		return "did you mean " + ShellWord(meant) + "?"
	case user != "" && len(parts) <= 5 && meant != string(homeOf(parts[2], user)):
		return "your home is " + ShellWord(string(homeOf(parts[2], user)))
	case !fixed:
		return a.Paddlectl + " ls " + ShellWord(string(Top.Join(parts[2]))) + " shows what is there"
	}
	return ""
}

// damageLine returns the hint that names the commands for a damaged file of records, or "" for
// other errors and in the commands that list damage.
func (a *App) damageLine(e *recordio.Error) string {
	const saves = "recordio salvage saves the intact records"
	if e.Path == "" || e.Path == StdinText || strings.HasSuffix(a.Command, "verify") {
		return ""
	}
	verify := a.Paddlectl + " recordio verify " + ShellWord(e.Path) + " lists all damage; "
	switch e.Kind {
	case recordio.Truncated:
		return verify + "recordio repair cuts off an incomplete end, " + saves
	case recordio.Checksum, recordio.Malformed:
		return verify + saves
	}
	return ""
}

// renameLine returns the command that renames a local entry, or "" if there is none.
func renameLine(e *transfer.NameError) string {
	if e.Dir.Within(Top) || runtime.GOOS == "windows" {
		return ""
	}
	dir := ShellWord(string(e.Dir)) + "/"
	inside := strings.ReplaceAll(e.Quoted[1:len(e.Quoted)-1], "'", `\'`)
	return "in bash: mv " + dir + "$'" + inside + "' " + dir + "NEW-NAME"
}

// quotaLine returns the command that shows the exceeded quota of err. Stores name the
// directory that has the quota.
func (a *App) quotaLine(err error) string {
	line := a.Paddlectl + " quota"
	var e *pfs.Error
	if errors.As(err, &e) && e.Path.Within(Top) {
		line += " " + ShellWord(string(limitedDir(e.Path)))
	}
	return line + " shows use and quota"
}

// spaceLine returns the command that shows the free space of the full store of err: on the
// services or on this machine.
func (a *App) spaceLine(err error) string {
	var e *pfs.Error
	if !errors.As(err, &e) || e.Path == "" || e.Path.Within(Top) {
		return a.Paddlectl + " df shows the space on each datacenter"
	}
	if runtime.GOOS == "windows" {
		return ""
	}
	return "df -h " + ShellWord(LocalText(e.Path.Parent())) + " shows the space on this machine"
}

// limitedDir returns the directory whose quota the hint about name shows: its home, or else its
// directory. So all files of a copy have the same hint, which is printed once.
func limitedDir(name pfs.Path) pfs.Path {
	if home, ok := homeAbove(name); ok {
		return home
	}
	if AboveStores(name.Parent()) {
		return name
	}
	return name.Parent()
}

// homeAbove returns the home that contains name, which may be name itself.
func homeAbove(name pfs.Path) (home pfs.Path, ok bool) {
	for p := name; p.Within(Top) && p != Top; p = p.Parent() {
		if p.Parent().Base() == "home" && AboveStores(p.Parent().Parent()) {
			return p, true
		}
	}
	return "", false
}

// unavailableHint returns the hint for an error without any response from a service.
func (a *App) unavailableHint(err error) string {
	const later = "try again in a moment; transfers resume"
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return fmt.Sprintf("is the name right? %s config view shows the configuration", a.Paddlectl)
	}
	var header tls.RecordHeaderError
	if errors.As(err, &header) {
		return "the server does not speak TLS: does the endpoint name the port of pfsd?"
	}
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" || dial.Addr == nil {
		return later
	}
	host, port, err := net.SplitHostPort(dial.Addr.String())
	if err == nil && (port == "443" || port == "80") {
		return "does the endpoint name the port? The default port of pfsd is 8730"
	}
	if err == nil && cliio.IsLoopback(host) {
		return fmt.Sprintf("is pfsd running at %s? pfsd serve --data DIR starts one", dial.Addr)
	}
	return fmt.Sprintf("is pfsd running at %s? %s", dial.Addr, later)
}

// loginLine returns the login command for an error about a missing login.
func (a *App) loginLine(err error) string {
	file, cerr := a.Remotes.Config()
	if cerr != nil {
		return "" // the message has the hint already
	}
	if len(file.Entries) == 0 {
		return a.loginAnywhere()
	}
	e, cerr := entryOf(file, err)
	if cerr != nil {
		return a.loginAnywhere()
	}
	return a.loginTo(e)
}

// entryOf returns the entry of the service that returned err: the one of its path, or else the
// current one.
func entryOf(file *config.File, err error) (config.Entry, error) {
	var pe *pfs.Error
	if errors.As(err, &pe) {
		if named, ok := file.Find(datacenter(pe.Path)); ok {
			return named, named.Err
		}
	}
	return file.Current()
}

func (a *App) loginAnywhere() string {
	return a.Paddlectl + " login --endpoint https://HOST:PORT --username NAME"
}

// loginTo returns the command that logs in to the service of e. A new entry may have no name
// yet.
func (a *App) loginTo(e config.Entry) string {
	line := []string{a.Paddlectl, "login", "--endpoint", e.Endpoint, "--username", cmp.Or(e.Username, "NAME")}
	if e.Name != "" {
		line = append(line, "--datacenter", e.Name)
	}
	return ShellLine(line)
}

// pinLine returns the command that accepts a new certificate.
func (a *App) pinLine(err error, pin *client.PinError) string {
	file, cerr := a.Remotes.Config()
	if cerr != nil {
		return ""
	}
	e, cerr := entryOf(file, err)
	if cerr != nil || e.Fingerprint != pin.Pinned {
		i := slices.IndexFunc(file.Entries, func(e config.Entry) bool { return e.Fingerprint == pin.Pinned })
		if i < 0 {
			return "" // the message has the hint already
		}
		e = file.Entries[i]
	}
	return a.trustLine(e, pin)
}

func (a *App) trustLine(e config.Entry, pin *client.PinError) string {
	return "if its administrator confirms the new one: " + a.loginTo(e) + " --fingerprint " + pin.Shown
}

// LoginHint adds to an error of a login at the service of e what the user can do about it. The
// path in such an error need not be one of that service.
func (a *App) LoginHint(err error, e config.Entry) error {
	var pin *client.PinError
	switch kind := pfs.KindOf(err); {
	case err == nil:
		return nil
	case kind == pfs.Unsupported || kind == pfs.Other:
		if u, perr := url.Parse(e.Endpoint); perr == nil && u.Path != "" {
			return WithHint(err, "pfsd has no path in its address: --endpoint "+u.Scheme+"://"+u.Host)
		}
		return err
	case errors.As(err, &pin):
		return WithHint(err, a.trustLine(e, pin))
	case kind == pfs.Unauthenticated:
		return WithHint(err, a.loginTo(e))
	case kind == pfs.Limit:
		return WithHint(err, "") // the service's message says how long to wait
	}
	return err
}

// Hinted is an error with a hint that the command adds.
type Hinted struct {
	error
	way string
}

// WithHint adds the hint way to err.
func WithHint(err error, way string) error { return Hinted{err, way} }

func (h Hinted) Unwrap() error { return h.error }

// ParentHint adds the hint way to an error about a missing directory above at. It adds none if
// users cannot create that directory: a datacenter, its fixed directories, or the home of a
// missing account.
func ParentHint(ctx context.Context, err error, at transfer.End, way string) error {
	var e *pfs.Error
	if !errors.As(err, &e) || e.Kind != pfs.NotExist || e.Path == "" || !at.Path.Within(e.Path) {
		return err
	}
	if dc := datacenter(at.Path); at.Path.Within(Top) && dc != "" {
		if !isFixed(at.Path) {
			return err
		}
		if exists, serr := pfs.Exists(ctx, at.FS, Top.Join(dc)); serr != nil || !exists {
			return err
		}
		if home, ok := homeAbove(at.Path); ok {
			if exists, serr := pfs.Exists(ctx, at.FS, home); serr != nil || !exists {
				return err
			}
		}
	}
	return WithHint(err, way)
}

// errNamed is an error prefixed with a name.
type errNamed struct {
	name string
	err  error
}

// NamedError prefixes err with name.
func NamedError(name string, err error) error { return errNamed{name, err} }

func (e errNamed) Error() string { return e.name + ": " + e.err.Error() }

func (e errNamed) Unwrap() error { return e.err }
