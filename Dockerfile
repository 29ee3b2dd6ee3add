# The worker of toolrelay, without any tools. Yours go on top:
#   FROM toolrelay
#   COPY my_tools.py /app/
#   ENV TOOLRELAY_TOOLS=my_tools

FROM python:3.12-slim AS build
RUN python -m venv --without-pip /opt/toolrelay
WORKDIR /src
# What toolrelay needs changes seldom, and gets a layer of its own.
COPY pyproject.toml constraints.txt ./
RUN python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
        > requirements.txt \
    && pip --python /opt/toolrelay install --no-cache-dir --requirement requirements.txt --constraint constraints.txt
COPY README.md LICENSE ./
COPY producer producer
COPY worker worker
RUN pip --python /opt/toolrelay install --no-cache-dir --constraint constraints.txt .

FROM python:3.12-slim
RUN groupadd --gid 10001 toolrelay && useradd --uid 10001 --gid 10001 --no-create-home toolrelay
COPY --from=build /opt/toolrelay /opt/toolrelay
ENV PATH=/opt/toolrelay/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
USER 10001:10001
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 CMD ["toolrelay", "health"]
# Process 1 is toolrelay itself, which takes SIGTERM as "finish what you run, give back the rest".
ENTRYPOINT ["toolrelay"]
CMD ["worker"]
