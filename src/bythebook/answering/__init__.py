"""A question → the events of one turn: its steps, the sentences that passed the check, and the answer or the refusal.

May import `followups` and below.
"""
