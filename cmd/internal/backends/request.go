package backends

import (
	"cmp"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/nearest"
	"github.com/paddlecloud/pfs/pfs"
)

// request is a parsed Spec. Its methods read options; err is the first error.
type request struct {
	url     string // without options
	options map[string]string
	dir     string
	err     error
}

// newRequest refuses unknown options, and a password in the URL, which it does not repeat.
func newRequest(scheme string, known []string, s Spec) (*request, error) {
	const op = "backends.Check"
	r := &request{url: s.URL, options: maps.Clone(s.Options), dir: s.Dir}
	if r.options == nil {
		r.options = map[string]string{}
	}
	address, query, ok := strings.Cut(s.URL, "?")
	if len(known) > 0 && ok {
		r.url = address
		if err := r.takeQuery(query); err != nil {
			return nil, err
		}
	}
	authority, _, _ := strings.Cut(strings.TrimPrefix(r.url, scheme+"://"), "/")
	if strings.Contains(authority, "@") {
		return nil, pfs.Errorf(op, "", pfs.Invalid, "neither a user nor a password belongs into the URL of a store: options name them")
	}
	for _, name := range slices.Sorted(maps.Keys(r.options)) {
		if err := checkOption(scheme, name, known); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// takeQuery adds the options of the URL. No option may be given twice.
func (r *request) takeQuery(query string) error {
	const op = "backends.Check"
	values, err := url.ParseQuery(query)
	if err != nil {
		return pfs.Errorf(op, "", pfs.Invalid, "what follows \"?\" in the URL is not NAME=VALUE&NAME=VALUE")
	}
	for name, list := range values {
		if _, twice := r.options[name]; twice || len(list) > 1 {
			return pfs.Errorf(op, "", pfs.Invalid, "option %q is given twice", name)
		}
		r.options[name] = list[0]
	}
	return nil
}

func checkOption(scheme, name string, known []string) error {
	const op = "backends.Check"
	switch near := nearest.Word(name, known); {
	case slices.Contains(known, name):
		return nil
	case len(known) == 0:
		return pfs.Errorf(op, "", pfs.Invalid, "option %q: a store %s: has no options", name, scheme)
	case near != "":
		return pfs.Errorf(op, "", pfs.Invalid, "unknown option %q: did you mean %q?", name, near)
	}
	return pfs.Errorf(op, "", pfs.Invalid, "unknown option %q: a store %s: has %s", name, scheme, strings.Join(known, ", "))
}

// fail keeps the first error about an option.
func (r *request) fail(name, format string, args ...any) {
	if r.err == nil {
		r.err = pfs.Errorf("backends.Check", "", pfs.Invalid, "option %q: "+format, append([]any{name}, args...)...)
	}
}

// file reads the name of a file or directory; the default is "".
func (r *request) file(name string) string {
	value := r.options[name]
	if value == "" || filepath.IsAbs(value) {
		return value
	}
	return filepath.Join(r.dir, value)
}

// option reads an option with parse; form describes valid values. The default is otherwise.
func option[T any](r *request, name string, otherwise T, form string, parse func(string) (T, error)) T {
	value, ok := r.options[name]
	if !ok {
		return otherwise
	}
	v, err := parse(value)
	if err != nil {
		r.fail(name, "%q is %s", value, form)
	}
	return v
}

// number reads a non-negative number; the default is 0.
func (r *request) number(name string) int {
	return option(r, name, 0, "not a number", func(s string) (int, error) {
		n, err := strconv.ParseUint(s, 10, 31)
		return int(n), err
	})
}

// size reads a number of bytes such as 4096, 64K, 128M, 1G; the default is 0.
func (r *request) size(name string) int64 {
	return option(r, name, 0, "no size: write it as 1048576, 64K, 128M or 1G", func(s string) (int64, error) {
		digits := strings.TrimRight(s, "KMG")
		shift, known := map[string]int{"": 0, "K": 10, "M": 20, "G": 30}[s[len(digits):]]
		n, err := strconv.ParseUint(digits, 10, 31)
		if !known {
			err = strconv.ErrSyntax
		}
		return int64(n) << shift, err
	})
}

// duration reads a time; the default is 0.
func (r *request) duration(name string) time.Duration {
	return option(r, name, 0, "not a time such as 30s", func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if d <= 0 {
			err = cmp.Or(err, strconv.ErrRange)
		}
		return d, err
	})
}

// boolean reads true or false; the default is otherwise.
func (r *request) boolean(name string, otherwise bool) bool {
	return option(r, name, otherwise, "neither true nor false", strconv.ParseBool)
}
