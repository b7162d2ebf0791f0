"""Document E's table of threads, for whoever reads the database with another program: a view, and the two indexes."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

SPOKEN = "m.thread_id = t.thread_id AND NOT m.archived AND (m.role = 'user' OR (m.role = 'assistant' AND m.tool_calls IS NULL))"
POSTGRESQL = f"""
CREATE VIEW conversation_threads AS
SELECT CAST(t.thread_id AS uuid) AS thread_id,
       COALESCE((
           SELECT jsonb_agg(
               jsonb_strip_nulls(jsonb_build_object(
                   'role', m.role,
                   'content', m.content,
                   'timestamp', to_char(m.timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                   'confidence', m.confidence
               ))
               ORDER BY m.turn, m.position
           )
           FROM messages m WHERE {SPOKEN}
       ), '[]') AS messages,
       t.created_at,
       t.updated_at,
       t.topic_summary,
       CAST(t.metadata AS jsonb) AS metadata
FROM threads t WHERE t.turn_count > 0
"""
SQLITE = f"""
CREATE VIEW conversation_threads AS
SELECT t.thread_id,
       (
           SELECT json_group_array(json(message)) FROM (
               SELECT json_patch('{{}}', json_object(
                   'role', m.role,
                   'content', m.content,
                   'timestamp', replace(substr(m.timestamp, 1, 23), ' ', 'T') || 'Z',
                   'confidence', m.confidence
               )) AS message
               FROM messages m WHERE {SPOKEN} ORDER BY m.turn, m.position
           )
       ) AS messages,
       t.created_at,
       t.updated_at,
       t.topic_summary,
       t.metadata
FROM threads t WHERE t.turn_count > 0
"""
"""A merge patch leaves out what is null."""


def upgrade() -> None:
    op.execute("CREATE INDEX idx_threads_updated ON threads (updated_at DESC)")
    op.execute("CREATE INDEX idx_threads_created ON threads (created_at DESC)")
    op.execute(POSTGRESQL if op.get_bind().dialect.name == "postgresql" else SQLITE)
