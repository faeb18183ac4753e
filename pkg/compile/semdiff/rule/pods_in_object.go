package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
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
	for child := range n.Items() {
		if !child.Leaf() {
			found = append(found, podSpecs(child)...)
		}
	}
	return found
}

// imagesOf are those that the pods of an object start with, and those of their volumes, sorted.
func imagesOf(root *object.Node) []string {
	found := imagesIn(root, "containers", "initContainers", "ephemeralContainers")
	for _, pod := range podSpecs(root) {
		for volume := range pod.Get("volumes").Items() {
			found = append(found, volume.Scalar("image", "reference"))
		}
	}
	return sortedDistinct(found)
}

// imagesIn are the images of some lists of containers.
func imagesIn(root *object.Node, lists ...string) []string {
	var found []string
	for _, pod := range podSpecs(root) {
		for _, list := range lists {
			for container := range pod.Get(list).Items() {
				found = append(found, container.Scalar("image"))
			}
		}
	}
	return sortedDistinct(found)
}

// registryOf is the host that an image comes from. A name without one is taken from Docker Hub
// (https://github.com/distribution/reference/blob/main/normalize.go).
func registryOf(image string) string {
	host, _, found := strings.Cut(image, "/")
	if !found || host != "localhost" && !strings.ContainsAny(host, ".:") {
		return "docker.io"
	}
	return host
}

// newRegistry is the first registry that nothing on the cluster had its image from before, or "". On a cluster that is new every one is.
func (c *Cluster) newRegistry(images []string) string {
	if len(c.was.registries) == 0 {
		return ""
	}
	for _, image := range images {
		if host := registryOf(image); !c.was.registries[host] {
			return host
		}
	}
	return ""
}

// usedOfNamespace are what the pods of an object have of the namespace that they run in: volumes with data, secrets, and the account.
func usedOfNamespace(root *object.Node) []string {
	var found []string
	for _, pod := range podSpecs(root) {
		for v := range pod.Get("volumes").Items() {
			if claim := v.Scalar("persistentVolumeClaim", "claimName"); claim != "" {
				found = append(found, "the volume "+claim)
			}
			found = append(found, secretsOfVolume(v)...)
			if driver := v.Scalar("csi", "driver"); driver != "" {
				found = append(found, "a volume of "+driver)
			}
			if server := v.Scalar("nfs", "server"); server != "" {
				found = append(found, "the files of "+server+":"+v.Scalar("nfs", "path"))
			}
		}
		for _, name := range variableSecrets(pod) {
			found = append(found, "the secret "+name)
		}
		if account := pod.Scalar("serviceAccountName"); account != "" && account != "default" {
			found = append(found, "the service account "+account)
		}
	}
	return sortedDistinct(found)
}

// variableSecrets are the Secrets in variables of the containers of a pod.
func variableSecrets(pod *object.Node) []string {
	var found []string
	for _, list := range []string{"containers", "initContainers"} {
		for container := range pod.Get(list).Items() {
			for from := range container.Get("envFrom").Items() {
				found = append(found, from.Scalar("secretRef", "name"))
			}
			for variable := range container.Get("env").Items() {
				found = append(found, variable.Scalar("valueFrom", "secretKeyRef", "name"))
			}
		}
	}
	return slices.DeleteFunc(found, func(name string) bool { return name == "" })
}

// podLeaves are the values of the pods of an object that comes as a whole, each as the change from nothing that it is.
func podLeaves(c *match.Change) []*match.Change {
	var leaves []*match.Change
	for _, pod := range podSpecs(&c.After.Root) {
		leaves = append(leaves, c.Leaves(nil, pod)...)
	}
	return leaves
}

// namesImage reports whether a value is the name of an image: that of a container, or of a volume.
func namesImage(p match.Path) bool {
	return p.Last() == "image" || len(p) > 1 && p.Last() == "reference" && p[len(p)-2] == "image"
}

// newImages are the images in a part of a pod that comes as a whole: a container, or a volume.
func newImages(c *match.Change) []string {
	if c.Whole() || c.Old != nil || c.New == nil || c.New.Leaf() || !slices.ContainsFunc([]string{"containers", "initContainers", "ephemeralContainers", "volumes"}, c.Path.Has) {
		return nil
	}
	var found []string
	for _, leaf := range c.Leaves(c.Path, c.New) {
		if namesImage(leaf.Path) {
			found = append(found, leaf.New.Scalar())
		}
	}
	return sortedDistinct(found)
}

func imagesBefore(c *match.Change) []string {
	if c.Before == nil {
		return nil
	}
	return imagesOf(&c.Before.Root)
}

func registriesOf(images []string) []string {
	var hosts []string
	for _, image := range images {
		hosts = append(hosts, registryOf(image))
	}
	return sortedDistinct(hosts)
}
