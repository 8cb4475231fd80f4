package testbed

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestHDFS(t *testing.T) {
	c := HDFS(t)
	for _, a := range c.NameNodes {
		conn, err := net.Dial("tcp", a)
		if err != nil {
			t.Fatalf("NameNode: %v", err)
		}
		conn.Close()
	}
}

// TestScratch checks the directory during the test that owns it and after that.
func TestScratch(t *testing.T) {
	c := HDFS(t)
	status := func(dir string) (int, string) {
		resp, err := http.Get(c.WebHDFS[0] + "/webhdfs/v1" + dir + "?op=GETFILESTATUS&user.name=" + c.Superuser)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	var dirs []string
	t.Run("test", func(t *testing.T) {
		for range 2 {
			dir := c.Scratch(t)
			code, text := status(dir)
			if code != http.StatusOK || !strings.Contains(text, `"permission":"777"`) || !strings.Contains(text, `"type":"DIRECTORY"`) {
				t.Errorf("%s: status %d, %s: want a directory that is writable for all", dir, code, text)
			}
			dirs = append(dirs, dir)
		}
	})
	if len(dirs) != 2 || dirs[0] == dirs[1] {
		t.Errorf("the directories are %q, want two", dirs)
	}
	for _, dir := range dirs {
		if code, text := status(dir); code != http.StatusNotFound {
			t.Errorf("%s after its test: status %d, %s: want none", dir, code, text)
		}
	}
}

func TestValues(t *testing.T) {
	got := values("A=1\nnoise\nB=x=y\n")
	if len(got) != 2 || got["A"] != "1" || got["B"] != "x=y" {
		t.Errorf("values = %v", got)
	}
}
