package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// writeTree writes files; those whose text is "image" have that of an image.
func writeTree(t *testing.T, files map[string]string) {
	t.Helper()
	image, err := os.ReadFile(convertData(t, "images/cat/a.png"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		data := []byte(text)
		if text == "image" {
			data = image
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// cifar returns a CIFAR file of images, each after the given number of labels of class 1.
func cifar(labels, images int) string {
	return strings.Repeat(strings.Repeat("\x01", labels)+strings.Repeat("\x07", 3*32*32), images)
}

// TestConvertTree converts directories that hold more than data.
func TestConvertTree(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTree(t, map[string]string{
		"pets/README.md": "# Pets\n", "pets/annotations.json": "{\"a\": 1}\n", "pets/labels.csv": "a,b\n1,2\n", "pets/LICENSE": "text\n",
		"pets/cat/0.png": "image", "pets/cat/1.PNG": "image", "pets/dog/0.png": "image", "pets/dog/0.xml": "<a/>\n", "pets/notes/x.txt": "x\n",
		"bad/0.png": "no image", "bad/1.png": "image", "bad/README.md": "# Bad\n",
		"bare/cat/0": "image", "bare/dog/1": "image", "bare/README.md": "# Bare\n",
		"tables/a.csv": "a\n1\n", "tables/b.csv": "a\n2\n", "tables/README.md": "# Tables\n", "tables/_SUCCESS": "",
		"mixed/a.csv": "a\n1\n", "mixed/b.csv": "a\n2\n", "mixed/c.jsonl": "{}\n",
		"parts/part-0": "{\"a\":1}\n", "parts/part-1": "{\"a\":2}\n",
		"shards/t.tfrecord-00000-of-00002": "\x00\x01", "shards/t.tfrecord-00001-of-00002": "\x00\x01", "shards/labels.txt": "a\n",
		"cifar/data_batch_1.bin": cifar(1, 10), "cifar/data_batch_2.bin": cifar(1, 10), "cifar/test_batch.bin": cifar(1, 10),
		"cifar/batches.meta.txt": "airplane\n", "cifar/readme.html": "<html></html>\n",
		"cifar100/train.bin": cifar(2, 10), "cifar100/fine_label_names.txt": "apple\n",
		"python/data_batch_1": "(lp0\nI1\na.", "python/batches.meta": "(lp0\n.", "python/readme.html": "<html></html>\n",
		"mnist/train-labels-idx1-ubyte": "\x00\x00\x08\x01\x00\x00\x00\x01\x05", "mnist/t10k-labels-idx1-ubyte": "\x00\x00\x08\x01\x00\x00\x00\x01\x06",
		"nested/a/x.csv": "a\n1\n", "nested/b/x.csv": "a\n2\n",
		"parted/train/cat/0.png": "image", "parted/train/dog/0.png": "image", "parted/Test/cat/0.png": "image",
	})
	for _, tt := range []struct {
		args   string
		code   cliio.Code
		stderr []string // parts of it
		stdout string   // part of the output of cat
	}{
		{"pets", cliio.Done, []string{"3 records of images", "left out as no images, by their names: pets/LICENSE, pets/README.md, pets/annotations.json, pets/dog/0.xml, pets/labels.csv, pets/notes/x.txt"},
			`"name":"dog/0.png","label":"dog","class":1`},
		{"--format images pets", cliio.Done, []string{"3 records of images", "left out as no images, by their names: pets/LICENSE,"}, `"label":"cat","class":0`},
		{"--exclude *.md --exclude notes/ pets", cliio.Done, []string{"3 records of images", "by their names: pets/LICENSE, pets/annotations.json"}, ""},
		{"--include /cat/ pets", cliio.Done, []string{"2 records of images"}, ""},
		{"--include *.csv pets", cliio.Done, []string{"1 record of csv"}, ""},
		{"--label-from none bad", cliio.Failed, []string{"bad/0.png, record 1, offset 0: not an image", "--bad skip"}, ""},
		{"--label-from none --bad skip bad", cliio.Done, []string{"1 record of images", "left out: bad/0.png", "no images, by their names: bad/README.md"}, ""},
		{"bare", cliio.Failed, []string{"bare/cat/0: it is images, and bare/README.md is text: all inputs are of one format", "hint: --format NAME", "--exclude"}, ""},
		{"--exclude *.md bare", cliio.Done, []string{"2 records of images"}, ""},
		{"--format images bare", cliio.Done, []string{"2 records of images", "left out as no images, by their names: bare/README.md"}, `"label":"cat","class":0`},
		{"tables", cliio.Done, []string{"2 records of csv", "left out as no csv, by their names: tables/README.md, tables/_SUCCESS"}, ""},
		{"mixed", cliio.Failed, []string{"mixed/c.jsonl: it is jsonl, and mixed/a.csv is csv"}, ""},
		{"parts", cliio.Done, []string{"2 records of jsonl"}, ""},
		{"shards", cliio.Failed, []string{"shards/t.tfrecord-00000-of-00002: neither its content nor its name tells the format", "hint: --format NAME"}, ""},
		{"cifar", cliio.Done, []string{"30 records of cifar10", "left out as no cifar10, by their names: cifar/batches.meta.txt, cifar/readme.html\n",
			"training and test data become one dataset, as cifar/data_batch_1.bin and cifar/test_batch.bin: choose with --include or --exclude"}, `{"label":1,"image":`},
		{"--format cifar10 --include data_* cifar", cliio.Done, []string{"20 records of cifar10"}, ""},
		{"cifar/test_batch.bin", cliio.Done, []string{"10 records of cifar10"}, ""},
		{"cifar100", cliio.Failed, []string{"cifar100/train.bin: it may be images of CIFAR: name the format cifar10 or cifar100"}, ""},
		{"--format cifar100 cifar100", cliio.Done, []string{"10 records of cifar100", "left out as no data, by their names: cifar100/fine_label_names.txt"}, ""},
		{"python", cliio.Done, []string{"1 record of pickle", "left out as no data, by their names: python/batches.meta, python/readme.html\n"}, ""},
		{"mnist", cliio.Done, []string{"2 records of mnist", "become one dataset, as mnist/train-labels-idx1-ubyte and mnist/t10k-labels-idx1-ubyte"}, ""},
		{"parted", cliio.Done, []string{"3 records of images", "the labels are Test, train: --label-from dir takes the directories that the images are in"}, `"label":"train"`},
		{"--label-from dir parted", cliio.Done, []string{"3 records of images"}, `"label":"dog"`},
		{"--exclude x tables/a.csv", cliio.Usage, []string{"--include and --exclude do nothing"}, ""},
		{"--exclude [ tables", cliio.Usage, []string{"pattern"}, ""},
		{"--exclude * tables", cliio.Usage, []string{"no file"}, ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			got := runHere(t, append([]string{"dataset", "convert", "-f", "--output-path", "out", "--name-prefix", "x"}, strings.Fields(tt.args)...)...)
			if got.code != tt.code {
				t.Fatalf("code %d: %s", got.code, got.stderr)
			}
			for _, want := range tt.stderr {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("got %s, want %s", got.stderr, want)
				}
			}
			warned := strings.Contains(got.stderr, "become one dataset") || strings.Contains(got.stderr, "the labels are")
			if want := slices.Contains([]string{"cifar", "mnist", "parted"}, tt.args); warned != want {
				t.Errorf("warned: %v, want %v: %s", warned, want, got.stderr)
			}
			if tt.stdout == "" {
				return
			}
			if got := runHere(t, "dataset", "cat", "out"); !strings.Contains(got.stdout, tt.stdout) {
				t.Errorf("got %s, want %s", got.stdout, tt.stdout)
			}
		})
	}
	got := runHere(t, "dataset", "convert", "-f", "--json", "--output-path", "out", "--name-prefix", "x", "pets")
	if !strings.Contains(got.stdout, `"left_out":6`) {
		t.Errorf("got %s", got.stdout)
	}
	runHere(t, "dataset", "convert", "--output-path", "tables-out", "--name-prefix", "x", "nested")
	if got := runHere(t, "dataset", "info", "--json", "tables-out"); !strings.Contains(got.stdout, `"records":2,`) || strings.Contains(got.stdout, `"classes"`) {
		t.Errorf("directories of tables are no classes: %s%s", got.stdout, got.stderr)
	}
	if got := runHere(t, "dataset", "info", "--json", "out"); !strings.Contains(got.stdout, `"classes":["cat","dog"]`) || !strings.Contains(got.stdout, `"files":3`) {
		t.Errorf("got %s", got.stdout)
	}
}
