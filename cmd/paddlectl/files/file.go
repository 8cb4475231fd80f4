package files

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

// fileRules is what the help texts of file and file put have in common.
const fileRules = `SRC must be below the current directory, and "../" is not allowed in it. If SRC is
a directory and ends with "/", the files under it are uploaded and no new directory
is made under DEST; if it does not, SRC becomes a directory in DEST. DEST must begin
with /pfs/{datacenter}/home/{username} (or /user/, the old spelling). What is
missing of DEST is made.`

func File(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "file", Args: "SRC DEST", Least: 2, Most: 2,
		Summary: "Simple file operations.",
		Text: `Uploads a file or directory: "file SRC DEST" is "file put SRC DEST".

` + fileRules + `

cp, ls and rm do the same with more choices.`,
		Examples: []string{"paddlectl file dataset/ /pfs/dc1/home/alice/dataset"},
		Exits:    app.PathExits(cliio.Integrity),
		Run:      func(ctx context.Context, operands []string) error { return runFilePut(ctx, a, operands) },
		Subs:     []*cli.Command{filePutCommand(a), fileGetCommand(a), fileLsCommand(a), fileRmCommand(a)},
	})
}
