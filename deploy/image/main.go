// Command image makes a container image of programs, without a container engine:
//
//	image -o FILE.tar -name NAME:VERSION [-libraries] [-tree DIR=FROM] PROGRAM...
//
// The programs are in /bin; the first is the entry point. The image has the certificates of this machine's certificate
// authorities, and runs as nobody. With -libraries it also has the shared libraries of the programs, as this machine has
// them; otherwise the programs must be static. With -tree it has the files of the directory FROM at DIR.
//
// FILE.tar is a docker archive (docker load, ctr images import) and also an OCI layout in a tar file (skopeo
// oci-archive:; unpack it for a directory). The same programs make the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

func main() {
	var im image
	out := flag.String("o", "", "write the image to `FILE`")
	flag.StringVar(&im.name, "name", "", "`NAME:VERSION` of the image")
	flag.BoolVar(&im.libraries, "libraries", false, "include the shared libraries of the programs")
	flag.StringVar(&im.tree, "tree", "", "include the files of a directory, as `DIR=FROM`")
	flag.Parse()
	if *out == "" || im.name == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	im.programs = flag.Args()
	if err := im.writeFile(*out); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// image describes an image.
type image struct {
	name      string // with the version as its tag
	libraries bool
	tree      string   // DIR=FROM, or empty
	programs  []string // names of files
}

// nobody is the account of the image: user and group.
const nobody = 65534

// writeFile makes the image in the file name.
func (im image) writeFile(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := im.write(f); err != nil {
		os.Remove(name)
		return err
	}
	return f.Close()
}

// object is the JSON object of a manifest or configuration.
type object = map[string]any

// write writes the image.
func (im image) write(w io.Writer) error {
	files, err := im.files()
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	zip := gzip.NewWriter(&layer)
	plain := sha256.New()
	if err := writeTar(io.MultiWriter(zip, plain), files); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	title, version, _ := strings.Cut(path.Base(im.name), ":")
	config := asJSON(object{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": object{
			"User": fmt.Sprintf("%d:%d", nobody, nobody), "Env": []string{"PATH=/bin", "HOME=/tmp"}, "WorkingDir": "/tmp",
			"Entrypoint": []string{"/bin/" + filepath.Base(im.programs[0])},
			"Labels": object{
				"org.opencontainers.image.title":   title,
				"org.opencontainers.image.version": version,
			},
		},
		"rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(plain.Sum(nil))}},
	})
	const oci = "application/vnd.oci.image."
	blobs := map[string]content{"oci-layout": {data: asJSON(object{"imageLayoutVersion": "1.0.0"})}}
	add := func(kind string, data []byte) object {
		sum := sha256.Sum256(data)
		digest := hex.EncodeToString(sum[:])
		blobs["blobs/sha256/"+digest] = content{data: data}
		return object{"mediaType": oci + kind, "digest": "sha256:" + digest, "size": len(data)}
	}
	configBlob, layerBlob := add("config.v1+json", config), add("layer.v1.tar+gzip", layer.Bytes())
	manifest := add("manifest.v1+json", asJSON(object{
		"schemaVersion": 2, "mediaType": oci + "manifest.v1+json", "config": configBlob, "layers": []object{layerBlob},
	}))
	manifest["annotations"] = object{"org.opencontainers.image.ref.name": version, "io.containerd.image.name": im.name}
	blobs["index.json"] = content{data: asJSON(object{"schemaVersion": 2, "manifests": []object{manifest}})}
	file := func(blob object) string {
		return "blobs/sha256/" + strings.TrimPrefix(blob["digest"].(string), "sha256:")
	}
	blobs["manifest.json"] = content{data: asJSON([]object{{"Config": file(configBlob), "RepoTags": []string{im.name}, "Layers": []string{file(layerBlob)}}})}
	return writeTar(w, blobs)
}

// asJSON returns the JSON of v, whose keys json.Marshal sorts.
func asJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // v consists of strings and numbers
	}
	return data
}

// content is a file or directory of an archive.
type content struct {
	mode fs.FileMode // 0 means that of a file that all may read
	from string      // the file to copy, or else data
	data []byte
}

// files returns the content of the image's root.
func (im image) files() (map[string]content, error) {
	files := map[string]content{
		"tmp":        {mode: fs.ModeDir | fs.ModeSticky | 0o777},
		"etc/passwd": {data: fmt.Appendf(nil, "root:x:0:0:root:/:/\nnobody:x:%d:%[1]d:nobody:/tmp:/\n", nobody)},
		"etc/group":  {data: fmt.Appendf(nil, "root:x:0:\nnogroup:x:%d:\n", nobody)},
	}
	const authorities = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(authorities); err == nil {
		files[authorities[1:]] = content{from: authorities}
	}
	if dir, from, ok := strings.Cut(im.tree, "="); ok {
		if err := addTree(files, strings.Trim(dir, "/"), from); err != nil {
			return nil, err
		}
	}
	for _, p := range im.programs {
		files["bin/"+filepath.Base(p)] = content{mode: 0o755, from: p}
		if !im.libraries {
			continue
		}
		libraries, err := librariesOf(p)
		if err != nil {
			return nil, err
		}
		for _, l := range libraries {
			files[strings.TrimPrefix(l, "/")] = content{mode: 0o755, from: l}
		}
	}
	return files, nil
}

// addTree adds the files of the directory from at dir. It follows links to files.
func addTree(files map[string]content, dir, from string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		files[path.Join(dir, filepath.ToSlash(below))] = content{mode: info.Mode().Perm(), from: name}
		return nil
	})
}

// library matches the file of a library in the output of ldd: "NAME => FILE (ADDRESS)", or the loader, "FILE (ADDRESS)".
var library = regexp.MustCompile(`(?m)^\t(?:\S+ => )?(/\S+) \(0x`)

// librariesOf returns the shared libraries that program needs.
func librariesOf(program string) ([]string, error) {
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", program, err)
	}
	if bytes.Contains(out, []byte("not found")) {
		return nil, fmt.Errorf("libraries of %s are missing:\n%s", program, out)
	}
	var files []string
	for _, m := range library.FindAllSubmatch(out, -1) {
		files = append(files, string(m[1]))
	}
	return files, nil
}

// writeTar writes files and their parent directories in the order of their names, without times and owners.
func writeTar(w io.Writer, files map[string]content) error {
	all := maps.Clone(files)
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			all[dir] = content{mode: fs.ModeDir | 0o755}
		}
	}
	archive := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := writeEntry(archive, name, all[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeEntry(archive *tar.Writer, name string, c content) error {
	h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: int64(cmp.Or(c.mode.Perm(), 0o644)), Size: int64(len(c.data)), Format: tar.FormatUSTAR}
	if c.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	from := io.Reader(bytes.NewReader(c.data))
	switch {
	case c.mode.IsDir():
		h.Name, h.Typeflag = name+"/", tar.TypeDir
	case c.from != "":
		f, err := os.Open(c.from)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		h.Size, from = info.Size(), f
	}
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(archive, from)
	return err
}
