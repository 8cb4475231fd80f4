package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// fileRules is what the help texts of file and file put have in common.
const fileRules = `SRC must be below the current directory, and "../" is not allowed in it. If SRC is
a directory and ends with "/", the files under it are uploaded and no new directory
is made under DEST; if it does not, SRC becomes a directory in DEST. DEST must begin
with /pfs/{datacenter}/home/{username} (or /user/, the old spelling). What is
missing of DEST is made.`

func (d *deps) fileCommand() *cli.Command {
	return d.command(spec{
		name: "file", args: "SRC DEST", least: 2, most: 2,
		summary: "Simple file operations.",
		text: `Uploads a file or directory: "file SRC DEST" is "file put SRC DEST".

` + fileRules + `

cp, ls and rm do the same with more choices.`,
		examples: []string{"paddlectl file dataset/ /pfs/dc1/home/alice/dataset"},
		exits:    pathExits(cliio.Integrity),
		run:      func(ctx context.Context, operands []string) error { return runFilePut(ctx, d, operands) },
		subs:     []*cli.Command{d.filePutCommand(), d.fileGetCommand(), d.fileLsCommand(), d.fileRmCommand()},
	})
}

// simpleCopy returns the options of file put and file get.
func simpleCopy() *copyOptions {
	return &copyOptions{recursive: true, parallel: transfer.DefaultParallel, retries: inPatience}
}
