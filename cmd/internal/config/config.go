// Package config reads and writes the user's configuration: the datacenters, the user's name at
// each, and the tokens.
//
// The file is YAML, ~/.paddle/config unless PADDLE_CONFIG names another:
//
//	datacenters:
//	- name: datacenter1
//	  username: alice@example.org
//	  endpoint: https://cloud.example.org
//	current-datacenter: datacenter1
//
// The old syntax for the current entry, "active: true" in it, has the same meaning. Parsing is
// strict: unknown content is an error with file and line. A mistake in one entry disables only that
// entry. Writing is atomic, and keeps comments and order.
//
// Tokens are separate files in the directory "tokens" beside the configuration, one for each
// endpoint, datacenter and user.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/paddlecloud/pfs/internal/strictyaml"
	"github.com/paddlecloud/pfs/pfs"
)

// File is a configuration read from a file.
type File struct {
	// Name is the file's name. A missing file reads as empty.
	Name string
	// Entries are the datacenters in the order of the file, those with an Err included.
	Entries []Entry
	// Warnings are to be shown once.
	Warnings []string

	current     string // current-datacenter; "" if not given
	currentLine int
	absent      bool // the file does not exist
	doc         *document
}

// Entry is one datacenter.
type Entry struct {
	Name        string
	Username    string
	Password    string
	UserCert    string // accepted for old files; not used
	UserKey     string
	Endpoint    string // without a trailing slash
	Fingerprint string // SHA-256 of the pinned certificate in hex, or ""
	Insecure    bool   // allows plain http beyond this machine
	Active      bool   // the older way to select the current entry

	// Err is the reason why this entry cannot be used, or nil.
	Err  error
	Line int
}

// Path returns the name of the configuration file: PADDLE_CONFIG, else .paddle/config in the user's
// home directory. getenv looks up the environment.
func Path(getenv func(string) string) (string, error) {
	if name := getenv("PADDLE_CONFIG"); name != "" {
		return name, nil
	}
	home := getenv("HOME")
	if runtime.GOOS == "windows" {
		home = getenv("USERPROFILE")
	}
	if home == "" {
		return "", pfs.Errorf("config.Path", "", pfs.Invalid,
			"the environment names no home folder: set PADDLE_CONFIG to the file to use")
	}
	return filepath.Join(home, ".paddle", "config"), nil
}

// maxSize bounds the file, in bytes.
const maxSize = 1 << 20

// Load reads the file name. It fails only if no part of the file can be used.
func Load(name string) (*File, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		file, err := Parse(name, nil)
		file.absent = true
		return file, err
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSize {
		return nil, &strictyaml.Error{File: name, Text: fmt.Sprintf("larger than %d bytes: this is no configuration", maxSize), Kind: pfs.Invalid}
	}
	file, err := Parse(name, data)
	if err == nil {
		file.checkMode(f)
	}
	return file, err
}

// checkMode warns if others may read a password.
func (f *File) checkMode(file *os.File) {
	info, err := file.Stat()
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return
	}
	for _, e := range f.Entries {
		if e.Password != "" {
			f.warn("%s contains a password, and others may read it because its mode is %#o: chmod 600 %s",
				f.Name, info.Mode().Perm(), f.Name)
			return
		}
	}
}

func (f *File) warn(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}

func (f *File) errorf(line int, format string, args ...any) error {
	return f.yaml().Errorf(line, format, args...)
}

// yaml returns the parser of the file.
func (f *File) yaml() strictyaml.File { return strictyaml.File(f.Name) }
