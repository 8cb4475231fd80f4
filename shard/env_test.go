package shard

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// machine is the environment of a process: variables, and files of the root directory.
type machine struct {
	vars  map[string]string
	files map[string]string
}

func (m machine) env() Env {
	root := fstest.MapFS{}
	for name, text := range m.files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	lookup := func(name string) (string, bool) { v, ok := m.vars[name]; return v, ok }
	return Env{Lookup: lookup, Root: root}
}

func TestEnvTrainer(t *testing.T) {
	type vars = map[string]string
	tests := []struct {
		name  string
		vars  vars
		files vars
		want  Trainer
	}{
		{"of old", vars{"PADDLE_INIT_TRAINER_ID": "2", "PADDLE_INIT_NUM_GRADIENT_SERVERS": "4"}, nil, Trainer{2, 4}},
		{"of today", vars{"PADDLE_TRAINER_ID": "0", "PADDLE_TRAINERS_NUM": "1"}, nil, Trainer{0, 1}},
		{"files", nil, vars{"trainer_id": "3\n", "trainer_count": "10\n"}, Trainer{3, 10}},
		{"files without a line feed", nil, vars{"trainer_id": "3", "trainer_count": "10"}, Trainer{3, 10}},
		{"files of two lines", nil, vars{"trainer_id": "3\nx", "trainer_count": "10\r\ny"}, Trainer{3, 10}},
		{"all agree", vars{"PADDLE_INIT_TRAINER_ID": "1", "PADDLE_TRAINER_ID": "1", "PADDLE_TRAINERS_NUM": " 2 "}, vars{"trainer_count": "2"}, Trainer{1, 2}},
	}
	for _, tt := range tests {
		if got, err := (machine{tt.vars, tt.files}).env().Trainer(); got != tt.want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestEnvRefuses(t *testing.T) {
	type vars = map[string]string
	const id, count = "PADDLE_INIT_TRAINER_ID", "PADDLE_INIT_NUM_GRADIENT_SERVERS"
	tests := []struct {
		name  string
		vars  vars
		files vars
		want  error
		says  string
	}{
		{"nothing", nil, nil, ErrNoTrainer, "set PADDLE_INIT_TRAINER_ID and PADDLE_INIT_NUM_GRADIENT_SERVERS"},
		{"id only", vars{id: "0"}, nil, ErrTrainer, "set " + count},
		{"count only", nil, vars{"trainer_count": "3"}, ErrTrainer, "/trainer_count says 3, but no id: set /trainer_id"},
		{"newer id only", vars{"PADDLE_TRAINER_ID": "1"}, nil, ErrTrainer, "PADDLE_TRAINER_ID says 1, but of how many: set PADDLE_TRAINERS_NUM"},
		{"out of range", vars{id: "4", count: "4"}, nil, ErrTrainer, "id 4 of 4 trainers: ids run from 0 to 3 (" + id},
		{"negative", vars{id: "-1", count: "4"}, nil, ErrTrainer, "id -1"},
		{"no trainers", vars{id: "0", count: "0"}, nil, ErrTrainer, "at least 1"},
		{"not a number", vars{id: "one", count: "4"}, nil, ErrTrainer, id + ` is "one"`},
		{"empty", vars{id: "", count: "4"}, nil, ErrTrainer, id + ` is ""`},
		{"count not a number", vars{id: "0", count: "4.0"}, nil, ErrTrainer, count + ` is "4.0"`},
		{"disagree", vars{id: "1", count: "4"}, vars{"trainer_id": "2"}, ErrTrainer, id + " says 1 and /trainer_id says 2"},
		{"long file", nil, vars{"trainer_id": strings.Repeat("1", 1000), "trainer_count": "3"}, ErrTrainer, "/trainer_id"},
	}
	for _, tt := range tests {
		_, err := (machine{tt.vars, tt.files}).env().Trainer()
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %v that says %q", tt.name, err, tt.want, tt.says)
		}
	}
	if _, err := (Env{}).Trainer(); !errors.Is(err, ErrNoTrainer) {
		t.Errorf("nowhere to look: got %v, want ErrNoTrainer", err)
	}
	if _, err := (Env{Root: noAccess{}}).Trainer(); !errors.Is(err, ErrTrainer) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that cannot be read: got %v, want ErrTrainer and permission denied", err)
	}
}

type noAccess struct{}

func (noAccess) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

func TestWriteList(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "/pfs/dc/a b\n/pfs/dc/c": {"/pfs/dc/a b", "/pfs/dc/c"}} {
		var b bytes.Buffer
		if err := WriteList(&b, names); err != nil || b.String() != want {
			t.Errorf("%q: got %q, %v, want %q", names, b.String(), err, want)
		}
	}
	var b bytes.Buffer
	if err := WriteList(&b, []string{"a", "b\nc"}); !errors.Is(err, ErrFile) || b.Len() > 0 {
		t.Errorf("a name of two lines: got %v and %q, want ErrFile and nothing", err, b.String())
	}
}
