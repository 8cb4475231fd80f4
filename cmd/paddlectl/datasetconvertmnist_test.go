package main

import (
	"os"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// writeMNIST writes two images of a pixel and their labels.
func writeMNIST(t *testing.T, images, labels string) {
	t.Helper()
	for name, text := range map[string]string{
		images: "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01" + "\x01\x02",
		labels: "\x00\x00\x08\x01\x00\x00\x00\x02" + "\x07\x09",
	} {
		data := []byte(text)
		if strings.HasSuffix(name, ".gz") {
			data = gzipped(len(data), data)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConvertMNIST gives images and labels as a user, a shell and a directory do.
func TestConvertMNIST(t *testing.T) {
	t.Chdir(t.TempDir())
	const images, labels = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
	for _, dir := range []string{"plain", "packed", "half", "two", "bare", "loose"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeMNIST(t, "plain/"+images, "plain/"+labels)
	writeMNIST(t, "packed/"+images+".gz", "packed/"+labels+".gz")
	writeMNIST(t, "half/"+images+".gz", "half/"+labels)
	writeMNIST(t, "two/"+images, "two/"+labels)
	writeMNIST(t, "two/t10k-images.idx3-ubyte", "two/t10k-labels.idx1-ubyte")
	writeMNIST(t, "bare/"+images, "other")
	writeMNIST(t, "other", "loose/t10k-"+labels)
	const pair, two = "{\"label\":7,\"image\":[[1]]}\n{\"label\":9,\"image\":[[2]]}\n", "7\n9\n"
	for _, tt := range []struct {
		name, args string
		want       string // the records, or the message
		code       cliio.Code
	}{
		{"the directory", "plain", pair, cliio.Done},
		{"both", "plain/" + images + " plain/" + labels, pair, cliio.Done},
		{"labels first", "plain/" + labels + " plain/" + images, pair, cliio.Done},
		{"a pattern", "plain/train-*", pair, cliio.Done},
		{"named", "--format mnist plain/" + images + " plain/" + labels, pair, cliio.Done},
		{"images", "plain/" + images, pair, cliio.Done},
		{"labels", "plain/" + labels, two, cliio.Done},
		{"packed", "packed/" + images + ".gz packed/" + labels + ".gz", pair, cliio.Done},
		{"half packed", "half/" + images + ".gz half/" + labels, pair, cliio.Done},
		{"a directory half packed", "half", pair, cliio.Done},
		{"two sets", "two", pair + pair, cliio.Done},
		{"images without labels", "bare", "[[1]]\n[[2]]\n", cliio.Done},
		{"one with, one without", "plain bare", "bare/" + images + ": its labels are not beside it", cliio.Usage},
		{"labels of others", "plain loose", "loose/t10k-" + labels + ": its images are not given", cliio.Usage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"dataset", "convert", "-f", "--output-path", "out", "--name-prefix", "x"}, strings.Fields(tt.args)...)
			got := runHere(t, args...)
			if got.code != tt.code {
				t.Fatalf("code %d: %s", got.code, got.stderr)
			}
			if tt.code != cliio.Done {
				if !strings.Contains(got.stderr, tt.want) {
					t.Errorf("got %s, want %s", got.stderr, tt.want)
				}
				return
			}
			if got := runHere(t, "dataset", "cat", "out"); got.stdout != tt.want {
				t.Errorf("got %s, want %s", got.stdout, tt.want)
			}
		})
	}
}
