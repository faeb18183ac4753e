package forge

import "cmp"

// comment is a comment, in the words of both forges.
type comment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	URL  string `json:"html_url"`
	// User is GitHub's author, Author GitLab's.
	User   person `json:"user"`
	Author person `json:"author"`
}

type person struct {
	ID int64 `json:"id"`
}

// author is the owner of the token. The zero author is an application that nobody names.
type author struct{ id int64 }

func (a author) wrote(n *comment) bool { return a.id != 0 && n.author() == a }

func (n *comment) author() author { return author{cmp.Or(n.User.ID, n.Author.ID)} }
