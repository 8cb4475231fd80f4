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

// Env is where a job tells its processes who they are.
type Env struct {
	Lookup func(name string) (string, bool) // of environment variables, as os.LookupEnv
	Root   fs.FS                            // the machine's "/"; nil: not looked at
}

// source is a place that may state a number.
type source struct {
	name string
	file bool // in Env.Root; else an environment variable
}

// String reads as users know it: a variable's name or an absolute path.
func (s source) String() string {
	if s.file {
		return "/" + s.name
	}
	return s.name
}

// ids and counts are all places, in the order in which messages name them.
func ids() []source {
	return []source{{name: "PADDLE_INIT_TRAINER_ID"}, {name: "PADDLE_TRAINER_ID"}, {name: "trainer_id", file: true}}
}

func counts() []source {
	return []source{{name: "PADDLE_INIT_NUM_GRADIENT_SERVERS"}, {name: "PADDLE_TRAINERS_NUM"}, {name: "trainer_count", file: true}}
}

// Trainer returns which trainer this process is. All sources that say something
// must agree; the error is ErrTrainer where they do not, where only one of id and
// number is stated, or where it cannot be read, and ErrNoTrainer where nothing is
// stated.
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

// beside returns the place among others that goes with the place s of own.
func beside(s source, own, others []source) source { return others[slices.Index(own, s)] }

// agreed returns the number that all sources state and the first of them; nil if
// none states any.
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

// longestLine is more than any number takes.
const longestLine = 64

// readFile returns the first line of a file, however long the file.
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
