package convert_test

import (
	"io/fs"
	"os"
)

func repositoryOfThisProject() fs.FS { return os.DirFS("../../..") }
