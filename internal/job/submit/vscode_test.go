package submit

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// The settings of OpenPAI's client choose the files of a package, and all of these arrive.
func TestSettings(t *testing.T) {
	files := []string{"train.sh", "run_samples.py", "new_job.pai.json", "data/merge_vocab.py", "data/train.txt", "data/raw/x", "lib/a/b.py", "lib/test/t.py", ".git/x.py"}
	everything := "data data/merge_vocab.py data/raw data/raw/x data/train.txt lib lib/a lib/a/b.py lib/test lib/test/t.py new_job.pai.json run_samples.py train.sh"
	for _, tt := range []struct{ name, settings, ignore, want, says string }{
		{"as documented", `{
			// of OpenPAI
			"pai.job.upload.enabled": true, /* the
			client asks otherwise */
			"pai.job.upload.exclude": [],
			"pai.job.upload.include": ["**/*.py", "**/*.sh",],
			"pai.job.generateJobName.enabled": true,
			"url": "http://x//y",
		}`, "", "data data/merge_vocab.py lib lib/a lib/a/b.py lib/test lib/test/t.py run_samples.py train.sh", ""},
		{"exclude", `{"pai.job.upload.enabled": true, "pai.job.upload.include": ["**/*.py"], "pai.job.upload.exclude": ["**/test/**", "run_*"]}`, "", "data data/merge_vocab.py lib lib/a lib/a/b.py", ""},
		{"at the root", `{"pai.job.upload.enabled": true, "pai.job.upload.include": ["*.{py,sh}", "data/**"]}`, "", "data data/merge_vocab.py data/raw data/raw/x data/train.txt run_samples.py train.sh", ""},
		{"our own rules decide last", `{"pai.job.upload.enabled": true, "pai.job.upload.include": ["**/*.py"]}`, "lib\n!train.sh\n", "data data/merge_vocab.py run_samples.py train.sh", ""},
		{"disabled", `{"pai.job.upload.enabled": null, "pai.job.upload.include": ["**/*.py"]}`, "", everything, ""},
		{"of others", `{"editor.fontSize": 12, broken`, "", everything, ""},
		{"nothing", `{"pai.job.upload.enabled": true, "pai.job.upload.include": ["**/*.go"]}`, "", "", "pai.job.upload.include in .vscode/settings.json names none"},
		{"of the name only", `{"pai.job.generateJobName.enabled": true}`, "", everything, ""},
		{"broken", "{\n\"pai.job.upload.enabled\": true\n\"x\": 1}", "", "", "line 3: "},
		{"a wrong type", "{\n\"pai.job.upload.enabled\": true,\n\"pai.job.upload.include\": \"*.py\"}", "", "", "line 3: "},
		{"a wrong pattern", `{"pai.job.upload.enabled": true, "pai.job.upload.include": ["[a"]}`, "", "", `"[a" is not a pattern`},
		{"an open comment", `{"pai.job.upload.enabled": true /*`, "", "", "cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, files...)
			write(t, dir, ".vscode/settings.json="+tt.settings)
			if tt.ignore != "" {
				write(t, dir, ".paddleignore="+tt.ignore)
			}
			c, err := scan(t.Context(), at(t, dir))
			if tt.says != "" {
				if pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v; want %q", err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(tt.want)
			got := slices.Sorted(maps.Keys(c.entries))
			if tt.want == everything {
				got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, ".") })
			}
			if tt.ignore != "" {
				got = slices.DeleteFunc(got, func(s string) bool { return s == ".paddleignore" })
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
			target := transfer.End{FS: memfs.New(memfs.Options{}), Path: "/package"}
			if err := c.upload(t.Context(), at(t, dir), target, transfer.Options{Origin: "test"}, nil); err != nil {
				t.Errorf("the upload: %v", err)
			}
		})
	}
}
