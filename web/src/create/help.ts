// fieldHelp explains each field of the form in one or two sentences.
export const fieldHelp = {
  Name: 'The name of the job in its namespace. It cannot be changed later; it is free again when the job is deleted.',
  Namespace: 'Where the job is made: usually one per team. Quota, claims and rights belong to the namespace.',
  Nodes: 'Pods that run ranks, each on its own share of a machine. Leave it empty for the number of the runtime.',
  'Slots per node': 'Places for MPI ranks on a node. mpirun starts nodes × slots ranks unless the command has -np. ' +
    'With GPUs choose as many as GPUs; with threads (OpenMP) choose fewer slots and set OMP_NUM_THREADS.',
  Resources: 'What each node requests, such as cpu 4, memory 16Gi, nvidia.com/gpu 2. Empty for the runtime’s. ' +
    'Of all but CPU it is the limit, too: a program that takes more memory is ended.',
  Queue: 'The queue of Kueue in which the job waits for its turn. The platform’s is chosen for you.',
  Command: 'What the launcher runs, usually mpirun and your program. No shell reads it: for pipes write ' +
    'bash -c \'…\'. Kubernetes replaces $(NAME) by a variable of the pod.',
  Image: 'The container image of launcher and nodes. Empty for the runtime’s. It needs the MPI of the runtime.',
  Variables: 'Environment variables of the launcher and of all ranks. A value from a Secret is in no YAML ' +
    'and no log.',
  Files: 'Text files that travel with the job and lie in /workspace, where the command then runs: 256 files, 128 KiB ' +
    'together. For more, or for data, use a claim.',
  Claims: 'PersistentVolumeClaims of the namespace, mounted in all pods. Several nodes need a claim that many ' +
    'machines can mount (ReadWriteMany).',
  Folder: 'Where the claim appears in the pods, such as /data.',
  'Read only': 'The job cannot change what is in the claim.',
  Record: 'What is recorded of the run: who sends how much (Open MPI), and how long each rank waits in MPI.',
  Suspended: 'The job is made and has no pods until you resume it.',
  Runtime: 'The platform’s template of a job: image, MPI, machines and limits.',
  Template: 'This job without its namespace, as a file for templates/ in the repository of the platform. Once it is ' +
    'merged, “Begin with” offers it to all tenants that can use its runtime.',
  'Runtime name': 'The name under which jobs ask for the runtime. It is the name of its file, too.',
  Description: 'One sentence for people who choose a runtime.',
  Documentation: 'The address of a page about the runtime, such as its guide or the notes of its image.',
  Framework: 'What the image trains with. It decides which variables the ranks get.',
  'MPI library': 'The family of the MPI in the image. It decides how mpirun learns its hosts.',
  'MPI version': 'The version of the MPI in the image, such as 5.0.7.',
  'Runtime image': 'The image of launcher and nodes, best with a digest: a tag may be pushed again.',
  Profile: 'The HardwareProfile of the machines that run the nodes.',
  'Least nodes': 'A job with fewer nodes is refused. Empty for 1.',
  'Most nodes': 'A job with more nodes is refused. Empty for 100.',
  'Usual nodes': 'How many nodes a job gets that asks for none. Empty for the least.',
  Slots: 'How many ranks one node may run; auto for one per accelerator. Empty for 1.',
  'CPU per node': 'What a node requests. Empty for all that the profile offers.',
  'Memory per node': 'What a node requests. Empty for all that the profile offers.',
  Launcher: 'The launcher is the first node, and runs ranks itself. Otherwise it is one pod more.',
} as const;

export type FieldTerm = keyof typeof fieldHelp;
