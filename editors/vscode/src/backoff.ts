// How long to wait before a server that died is started again, and when to give up.

const FIRST = 500; // milliseconds
const LONGEST = 30_000;
const QUIET = 60_000; // a server that lived so long has recovered
const MOST = 6; // deaths in a row

export class Backoff {
  private deaths = 0;

  /** Tells of a death after `lived` milliseconds; returns the milliseconds to wait, or null to give up. */
  died(lived: number): number | null {
    this.deaths = lived >= QUIET ? 1 : this.deaths + 1;
    return this.deaths > MOST ? null : Math.min(LONGEST, FIRST * 2 ** (this.deaths - 1));
  }

  /** Whether the person should hear of it: only of the first death in a row. */
  get isFirst(): boolean {
    return this.deaths === 1;
  }

  reset(): void {
    this.deaths = 0;
  }
}
