// What `midfill/status` says, as a status bar item's text and tooltip.

export interface Status {
  state: 'loading' | 'ready' | 'busy' | 'off' | 'error' | 'stopped';
  message: string;
  model: string;
  percentage?: number;
}

const ICONS = {
  loading: '$(loading~spin)', ready: '$(sparkle)', busy: '$(sync~spin)',
  off: '$(circle-slash)', error: '$(error)', stopped: '$(debug-disconnect)',
};

export function statusText(status: Status, languageOff: boolean): { text: string; tooltip: string } {
  const off = languageOff && (status.state === 'ready' || status.state === 'busy');
  const icon = ICONS[off ? 'off' : status.state];
  const share = status.state === 'loading' && status.percentage !== undefined ? ` ${status.percentage}%` : '';
  const message = off ? 'off for this language' : status.message;
  return { text: `${icon} Midfill${share}`, tooltip: `Midfill: ${message}` };
}
