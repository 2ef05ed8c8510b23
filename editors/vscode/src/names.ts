// The server's settings in this editor's spelling: `min_confidence` is `midfill.minConfidence`.

export const SETTINGS = [
  'model', 'device', 'precision', 'threads', 'slots', 'steps', 'alternatives', 'min_confidence', 'seed', 'debounce',
  'time_limit', 'cache_entries', 'context_tokens', 'ahead', 'memory_limit', 'languages',
] as const;

export function inEditor(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The server's settings, from what the editor says of each; what it leaves undefined is the server's to decide. */
export function serverSettings(get: (name: string) => unknown): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const name of SETTINGS) {
    const value = get(inEditor(name));
    if (value !== undefined) {
      found[name] = value;
    }
  }
  return found;
}
