package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// podSpecs are the specs of pods in an object, wherever its kind has them: each map with a list of containers.
func podSpecs(n *object.Node) []*object.Node {
	if n == nil {
		return nil
	}
	if containers := n.Get("containers"); n.Kind == object.MapNode && containers != nil && containers.Kind == object.ListNode {
		return []*object.Node{n}
	}
	var found []*object.Node
	for i := range n.Children {
		if !n.Children[i].Leaf() {
			found = append(found, podSpecs(&n.Children[i])...)
		}
	}
	return found
}

// images are those that the pods of an object start with, and those of their volumes, sorted.
func images(root *object.Node) []string {
	found := imagesIn(root, "containers", "initContainers", "ephemeralContainers")
	for _, pod := range podSpecs(root) {
		if volumes := pod.Get("volumes"); volumes != nil {
			for i := range volumes.Children {
				found = append(found, volumes.Children[i].Scalar("image", "reference"))
			}
		}
	}
	return distinct(found)
}

// imagesIn are the images of some lists of containers.
func imagesIn(root *object.Node, lists ...string) []string {
	var found []string
	for _, pod := range podSpecs(root) {
		for _, list := range lists {
			if containers := pod.Get(list); containers != nil {
				for i := range containers.Children {
					found = append(found, containers.Children[i].Scalar("image"))
				}
			}
		}
	}
	return distinct(found)
}

// registry is the host that an image comes from. A name without one is taken from Docker Hub
// (https://github.com/distribution/reference/blob/main/normalize.go).
func registry(image string) string {
	host, _, found := strings.Cut(image, "/")
	if !found || host != "localhost" && !strings.ContainsAny(host, ".:") {
		return "docker.io"
	}
	return host
}

// foreign is the first registry that nothing on the cluster had its image from before, or "". On a cluster that is new every one is.
func (c *cluster) foreign(images []string) string {
	if len(c.was.registries) == 0 {
		return ""
	}
	for _, image := range images {
		if host := registry(image); !c.was.registries[host] {
			return host
		}
	}
	return ""
}

// uses are what the pods of an object have of the namespace that they run in: volumes with data, secrets, and the account.
func uses(root *object.Node) []string {
	var found []string
	for _, pod := range podSpecs(root) {
		if volumes := pod.Get("volumes"); volumes != nil {
			for i := range volumes.Children {
				v := &volumes.Children[i]
				if claim := v.Scalar("persistentVolumeClaim", "claimName"); claim != "" {
					found = append(found, "the volume "+claim)
				}
				if secret := v.Scalar("secret", "secretName"); secret != "" {
					found = append(found, "the secret "+secret)
				}
			}
		}
		if account := pod.Scalar("serviceAccountName"); account != "" && account != "default" {
			found = append(found, "the service account "+account)
		}
	}
	return distinct(found)
}

// podLeaves are the values of the pods of an object that comes as a whole, each as the change from nothing that it is. They are to be
// judged; what is told is the change of the object.
func podLeaves(c *Change) []*Change {
	d := differ{cluster: c.Cluster, unit: c.Unit, after: c.After}
	for _, pod := range podSpecs(&c.After.Root) {
		d.leaves(pod)
	}
	return d.found
}

// leaves adds all values below a node, the items of lists of values by what they are, as those of two lists are compared.
func (d *differ) leaves(n *object.Node) {
	if n.Leaf() {
		d.add(nil, n, nil, nil, "")
		return
	}
	for i := range n.Children {
		child := &n.Children[i]
		segment := n.Segment(i)
		if n.Kind == object.ListNode {
			segment = or(child.Scalar(), segment)
		}
		d.below(segment, func() { d.leaves(child) })
	}
}

// powers are what some values give pods of their machine, in words, each once.
func powers(changes []*Change) []string {
	var found []string
	for _, c := range changes {
		wide, _ := brought(c)
		words := powers(wide)
		if len(words) == 0 {
			words = []string{power(c)}
		}
		for _, word := range words {
			if word != "" && !slices.Contains(found, word) {
				found = append(found, word)
			}
		}
	}
	return found
}

// power is what a value gives pods of their machine: `privileged`, `hostPath /`, `capability SYS_ADMIN`.
func power(c *Change) string {
	key, is := c.Path.Last(), value(c.New)
	switch {
	case c.Whole():
		return ""
	case c.Path.Has("capabilities") && c.Path.Has("add"), c.Path.Has("allowedCapabilities"), c.Path.Has("defaultAddCapabilities"):
		return "capability " + strings.Trim(is, "[]")
	case c.Kind() == constraintKind && c.Path.Last() == is:
		return c.Path.String()
	case holdsHostPath(c):
		return "hostPath " + c.New.Scalar("hostPath", "path")
	case c.Path.Has("hostPath") && key == "path":
		return "hostPath " + is
	case c.Path.Has("hostPath"):
		return ""
	case c.Path.Has("drop"), c.Path.Has("requiredDropCapabilities"):
		return "capability " + strings.Trim(value(c.Old), "[]") + " not dropped"
	case c.Path.Has("seccompProfile"):
		return "seccomp " + or(c.New.Scalar(), "Unconfined")
	case privileges[key].wide == "true" && is != "false":
		return key
	case c.New == nil:
		return "no " + c.Path.short()
	case c.Kind() == constraintKind:
		return c.Path.String() + " " + is
	}
	return key + " " + is
}
