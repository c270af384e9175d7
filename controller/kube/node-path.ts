export function nodePath(name: string): string {
  return `/api/v1/nodes/${encodeURIComponent(name)}`;
}
