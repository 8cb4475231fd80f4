package shard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Env is where a job tells its processes which trainer they are.
type Env struct {
	Lookup func(name string) (string, bool) // of environment variables, like os.LookupEnv
	Root   fs.FS                            // the machine's "/"; nil to ignore files
}

// source is a possible source of a number.
type source struct {
	name string
	file bool // a file in Env.Root; otherwise an environment variable
}

// String returns a variable's name or an absolute path.
func (s source) String() string {
	if s.file {
		return "/" + s.name
	}
	return s.name
}

// ids and counts list all sources, in the order of messages.
func ids() []source {
	return []source{{name: "PADDLE_INIT_TRAINER_ID"}, {name: "PADDLE_TRAINER_ID"}, {name: "trainer_id", file: true}}
}

func counts() []source {
	return []source{{name: "PADDLE_INIT_NUM_GRADIENT_SERVERS"}, {name: "PADDLE_TRAINERS_NUM"}, {name: "trainer_count", file: true}}
}

// Trainer returns which trainer this process is. All sources that are present must agree. The error
// is ErrTrainer if they do not, if only one of id and number is present, or if it cannot be parsed,
// and ErrNoTrainer if nothing is present.
func (e Env) Trainer() (Trainer, error) {
	id, idFrom, err := e.agreed(ids())
	if err != nil {
		return Trainer{}, err
	}
	count, countFrom, err := e.agreed(counts())
	if err != nil {
		return Trainer{}, err
	}
	switch {
	case idFrom == nil && countFrom == nil:
		return Trainer{}, fmt.Errorf("%w: set %s and %s", ErrNoTrainer, ids()[0], counts()[0])
	case idFrom == nil:
		return Trainer{}, fmt.Errorf("%w: %s says %d, but no id: set %s", ErrTrainer, countFrom, count, beside(*countFrom, counts(), ids()))
	case countFrom == nil:
		return Trainer{}, fmt.Errorf("%w: %s says %d, but of how many: set %s", ErrTrainer, idFrom, id, beside(*idFrom, ids(), counts()))
	}
	t := Trainer{ID: id, Count: count}
	if err := t.Check(); err != nil {
		return Trainer{}, fmt.Errorf("%w (%s and %s)", err, idFrom, countFrom)
	}
	return t, nil
}

// beside returns the source among others that corresponds to the source s of own.
func beside(s source, own, others []source) source { return others[slices.Index(own, s)] }

// agreed returns the number that all present sources state, and the first of them; nil if there is
// none.
func (e Env) agreed(sources []source) (n int, from *source, err error) {
	for _, s := range sources {
		text, found, err := e.read(s)
		if err != nil {
			return 0, nil, fmt.Errorf("%w: %s: %w", ErrTrainer, s, err)
		}
		if !found {
			continue
		}
		stated, err := strconv.Atoi(text)
		if err != nil {
			return 0, nil, fmt.Errorf("%w: %s is %q: a number is needed", ErrTrainer, s, text)
		}
		if from != nil && stated != n {
			return 0, nil, fmt.Errorf("%w: %s says %d and %s says %d: remove the one that is wrong", ErrTrainer, from, n, s, stated)
		}
		if from == nil {
			n, from = stated, &s
		}
	}
	return n, from, nil
}

func (e Env) read(s source) (text string, found bool, err error) {
	if s.file {
		return e.readFile(s.name)
	}
	if e.Lookup == nil {
		return "", false, nil
	}
	text, found = e.Lookup(s.name)
	return strings.TrimSpace(text), found, nil
}

// longestLine exceeds the length of any number.
const longestLine = 64

// readFile returns the first line of a file, however long the file is.
func (e Env) readFile(name string) (text string, found bool, err error) {
	if e.Root == nil {
		return "", false, nil
	}
	f, err := e.Root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longestLine))
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), true, err
}
